locals {
  a = file("x")        # ERROR: `file()` needs
  b = fileset(".", "") # ERROR: `fileset()` needs
  c = filesha256("x")  # ERROR: `filesha256()` needs
  d = each.key         # ERROR: `each` needs
  e = matrix.os        # ERROR: `matrix` needs
  f = run.id           # ERROR: `run` needs
}
