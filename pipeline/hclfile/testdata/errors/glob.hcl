task "a" {
  run     = ["true"]
  inputs  = ["src/**", "a[", ""] # ERROR: a pattern that cannot be read # ERROR: inputs contains an empty pattern
  outputs = ["/tmp/x"]           # ERROR: outputs contains an absolute path
}
task "b" {
  run     = ["true"]
  inputs  = ["../x"]     # ERROR: inputs leaves the root
  outputs = ["{a,../b}"] # ERROR: outputs leaves the root
}
task "c" {
  run     = ["true"]
  inputs  = ["src/"]  # ERROR: Write src/** for everything in the folder.
  outputs = ["!bin"] # ERROR: outputs cannot be negated
}
task "d" {
  run    = ["true"]
  inputs = "src/**" # ERROR: Write inputs = ["**/*.go"].
  scratch {
    include = ["a/.."] # ERROR: include leaves the root
    exclude = [1]      # ERROR: exclude must be text in quotes
  }
}
