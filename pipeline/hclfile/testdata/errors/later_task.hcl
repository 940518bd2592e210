task "a" {
  run = ["true"]
  cache { # ERROR: `cache` needs
    enabled = false
  }
}
