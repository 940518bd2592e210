task "a" {
  run = ["true"]
  env = { A = 1e400 } # ERROR: this number is too long: Write at most 300 characters, and an exponent of at most 300
}
