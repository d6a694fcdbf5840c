#include "debias/results/film_record.h"

#include <filesystem>

namespace debias {
namespace {

constexpr int64_t kLargestFilmFile = 1 << 20;  // bytes

FilmRecord film_of(const std::string& path, const Json& json) {
  FilmRecord film = {.checkpoint = json.at("checkpoint").get<std::string>(),
                     .control_steps = count_number(json.at("control_steps")),
                     .seed = whole_number(json.at("seed")),
                     .episode = count_number(json.at("episode")),
                     .episode_return = json.at("return").get<double>(),
                     .diverged = json.at("diverged").get<bool>(),
                     .stills = {}};
  for (const auto& still : json.at("stills").get_ref<const Json::array_t&>()) {
    film.stills.push_back({count_number(still.at("control_step")), still.at("reward").get<double>()});
  }
  if (film.stills.size() <= static_cast<size_t>(kMostStills)) return film;
  throw data_error("reading '{}': {} frames, more than the {} that are kept; write it again, or remove it", path, film.stills.size(),
                   kMostStills);
}

}  // namespace

bool is_still(int64_t step, int64_t steps) {
  constexpr int64_t kGaps = kMostStills - 1;
  if (steps <= kGaps) return true;
  const int64_t place = (step * kGaps + steps - 1) / steps;  // the first one whose step is not before this one
  return place * steps / kGaps == step;
}

std::string still_name(size_t place) { return fmt::format("{:02}.png", place + 1); }

Json to_json(const FilmRecord& film) {
  Json stills = Json::array();
  for (const auto& still : film.stills) stills.push_back({{"control_step", still.control_step}, {"reward", number_or_null(still.reward)}});
  return {{"checkpoint", film.checkpoint}, {"control_steps", film.control_steps},           {"seed", film.seed},
          {"episode", film.episode},       {"return", number_or_null(film.episode_return)}, {"diverged", film.diverged},
          {"stills", std::move(stills)}};
}

std::optional<FilmRecord> read_film(const std::string& run_folder) {
  const std::string path = fmt::format("{}/{}/{}", run_folder, kFilmFolder, kFilmFile);
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return std::nullopt;
  const Json json = read_json_object(path, kLargestFilmFile);
  return read_fields(path, [&] { return film_of(path, json); });
}

}  // namespace debias
