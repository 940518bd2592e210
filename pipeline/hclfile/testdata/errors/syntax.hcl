task "a" {
  run = ["true"
} # ERROR: Missing item separator: Expected a comma
