task "a" {
  run = ['true'] # ERROR: Single quotes are not valid
}
