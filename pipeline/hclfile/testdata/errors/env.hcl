task "a" {
  run = ["true"]
  env = ["A=1"] # ERROR: env must be a map
}
task "b" {
  run = ["true"]
  env = { A = ["x"], B = null } # ERROR: env A must be text # ERROR: env B is null
}
task "c" {
  run = ["true"]
  env = { "A=B" = "x", "" = "y" } # ERROR: "A=B" cannot be the name # ERROR: "" cannot be the name
}
task "b2" {
  run = ["true"]
  env = {
    "a b"    = "x" # ERROR: "a b" cannot be the name of a variable of the environment: A name consists of a-z, A-Z, 0-9, _ and ., and begins with a letter or _.
    "é"      = "x" # ERROR: cannot be the name
    "1x"     = "x" # ERROR: "1x" cannot be the name
    "A-B"    = "x" # ERROR: "A-B" cannot be the name
    "ok.yes" = "x"
  }
}
task "d" {
  run = ["true"]
  env = {
    A = "1"
    A = "2" # ERROR: env has A twice
  }
}
task "e" {
  run      = ["true"]
  pass_env = ["A*B", "C=1", ""] # ERROR: "A*B" is not a name # ERROR: "C=1" is not # ERROR: "" is not a name
}
task "f" {
  run = ["true"]
  env = null # ERROR: env is null
}
