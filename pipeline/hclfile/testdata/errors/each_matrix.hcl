task "list" {
  matrix = ["a"] # ERROR: matrix must be a map of lists: It is a list.
  run    = ["x"]
}
task "none" {
  matrix = {} # ERROR: matrix has no axis
  run    = ["x"]
}
task "axis" {
  matrix = {
    os   = "linux"      # ERROR: the axis os of the matrix must be a list: It is text. Write os = ["a", "b"].
    "a b" = ["x"]       # ERROR: "a b" is not a valid name for an axis
    go   = null         # ERROR: the axis go of the matrix must be a list: It is null.
    cc   = ["gcc", ""]  # ERROR: the axis cc contains a text that is empty
    n    = [1, [2]]     # ERROR: the axis n contains what is not text
    z    = ["a", null]  # ERROR: the axis z contains null
  }
  run = ["x", matrix.os]
}
task "twice" {
  matrix = { a = ["x", "x"], b = ["y"] } # ERROR: two combinations of the matrix have the key "x,y"
  run    = ["x"]
}
task "comma" {
  matrix = { a = ["x", "x,y"], b = ["y,z", "z"] } # ERROR: two combinations of the matrix have the key "x,y,z"
  run    = ["x"]
}
task "many" {
  matrix = { a = range(100), b = range(100), c = range(1000), d = range(1000), e = range(1000), f = range(1000), g = range(1000) } # ERROR: more than 1000 instances
  run    = ["x"]
}
task "secret" {
  matrix = { a = [secret("TOKEN")] } # ERROR: matrix may not be made from a secret
  run    = ["x"]
}
