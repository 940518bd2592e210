task "a" {
  run     = ["true"]
  inputs  = ["src/**"]
  outputs = ["dist/**", "own.txt"]
}

task "b" {
  run     = ["true"]
  inputs  = ["src/**"]
  outputs = ["dist/b.txt"] # ERROR: tasks "a" and "b" both make dist/b.txt
}

task "c" {
  run     = ["true"]
  inputs  = ["src/**"]
  outputs = ["./own.txt"] # ERROR: tasks "a" and "c" both make own.txt
}

task "d" {
  run     = ["true"]
  inputs  = ["src/**"]
  outputs = ["dist/d/*.js"] # ERROR: tasks "a" and "d" both make dist/d/*.js
}

task "e" {
  for_each = toset(["one", "two"])
  run      = ["true"]
  inputs   = ["src/**"]
  outputs  = ["same.txt"] # ERROR: both make same.txt
}

task "f" {
  for_each = toset(["one", "two"])
  run      = ["true"]
  inputs   = ["src/**"]
  outputs  = ["f/${each.key}/**", "dist-${each.key}.txt", "${each.key}dist*"]
}

task "g" {
  run     = ["true"]
  outputs = ["dist/**"]
}

task "h" {
  run     = ["true"]
  inputs  = ["src/**"]
  outputs = ["dist/**"]
  cache {
    enabled = false
  }
}
