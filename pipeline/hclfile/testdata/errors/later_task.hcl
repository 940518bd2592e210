task "a" {
  run      = ["true"]
  dotenv   = [".env"] # ERROR: `dotenv` needs
  for_each = ["a"]    # ERROR: `for_each` needs
  matrix   = {}       # ERROR: `matrix` needs
  retry {             # ERROR: `retry` needs
    attempts = 2
  }
  cache { # ERROR: `cache` needs
    enabled = false
  }
}
