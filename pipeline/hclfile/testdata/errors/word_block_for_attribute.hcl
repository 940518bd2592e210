task "a" {
  run = ["true"]
  env { # ERROR: env is an attribute
    A = "1"
  }
  scratch = { include = ["x"] } # ERROR: scratch is a block
}
