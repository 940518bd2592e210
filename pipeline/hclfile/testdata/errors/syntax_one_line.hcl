task "a" { run = ["true"], dir = "." } # ERROR: write this one over several lines
