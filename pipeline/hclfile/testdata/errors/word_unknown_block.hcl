steps "a" { # ERROR: no block "steps" at the top of the file
  run = ["true"]
}
