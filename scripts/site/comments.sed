# Plain comments as Doxygen reads them: the file's own, those before a declaration, and those behind one. Formulas, which are indented, stay
# on lines of their own.
1s#^// ?(.*)#/// @file\n/// \1#
s#^([[:space:]]*)//   +#\1///     #
s#^([[:space:]]*)//([[:space:]]|$)#\1///\2#
s#^(.*[;,{})>][[:space:]]+)//([[:space:]])#\1///<\2#
