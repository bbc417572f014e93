# Writes OUT: the text of FILE as one C++ string literal.
file(READ ${FILE} content)
file(WRITE ${OUT} "R\"glm~(${content})glm~\"\n")
