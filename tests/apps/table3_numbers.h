// Table 3 of Debiased Contrastive Learning and the setting of its runs (sections 3, 4 and A1 of the specification of agents): what
// recipes/rl/table3.yaml has to say.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace debias {

struct TableTask {
  std::string name;
  int action_repeat;
};
inline const std::vector<TableTask> kTableTasks = {{"finger_spin", 2}, {"cartpole_swingup", 8}, {"reacher_easy", 4},
                                                   {"cheetah_run", 4}, {"walker_walk", 2},      {"ball_in_cup_catch", 4}};

struct TableLoss {
  std::string variant, objective;
  double tau_plus;  // of the debiased ones
  int positives;
  std::vector<double> means, deviations;  // by task, of three runs
};
inline const std::vector<TableLoss> kTableLosses = {
    {"biased", "infonce", 0, 1, {310, 850, 918, 266, 623, 928}, {33, 20, 96, 41, 120, 47}},
    {"m1-0.01", "debiased_negatives", 0.01, 1, {324, 843, 927, 310, 626, 937}, {34, 30, 99, 12, 82, 9}},
    {"m1-0.05", "debiased_negatives", 0.05, 1, {308, 866, 916, 284, 613, 945}, {57, 7, 114, 20, 22, 13}},
    {"m1-0.1", "debiased_negatives", 0.1, 1, {364, 860, 868, 302, 594, 951}, {36, 4, 177, 29, 33, 11}},
    {"m2-0.01", "debiased_negatives", 0.01, 2, {330, 858, 754, 286, 746, 949}, {10, 10, 179, 20, 93, 5}},
    {"m2-0.1", "debiased_negatives", 0.1, 2, {381, 864, 904, 303, 671, 957}, {24, 6, 117, 5, 75, 5}}};

// Of every run, by place in the resolved recipe.
inline const std::map<std::string, nlohmann::json> kTableSetting = {
    {"/environment/pixels", 100},    {"/environment/stack", 3},
    {"/environment/look", "full"},   {"/agent/crop", 84},
    {"/agent/filters", 32},          {"/agent/features", 50},
    {"/agent/hidden", 1024},         {"/agent/batch_size", 128},
    {"/agent/discount", 0.99},       {"/agent/learning_rate", 1e-3},
    {"/agent/temperature", 0.1},     {"/agent/temperature_learning_rate", 1e-4},
    {"/agent/head_rate", 0.01},      {"/agent/encoder_rate", 0.05},
    {"/agent/actor_every", 2},       {"/agent/target_every", 2},
    {"/agent/random_steps", 1000},   {"/objective/temperature", 1},
    {"/replay/capacity", 100000},    {"/train/epochs", 10},
    {"/train/control_steps", 10000}, {"/evaluate/every", 1},
    {"/evaluate/episodes", 10}};

}  // namespace debias
