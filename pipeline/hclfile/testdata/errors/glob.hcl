task "a" {
  run     = ["true"]
  inputs  = ["src/**", "a[", ""] # ERROR: a pattern in inputs cannot be read # ERROR: a pattern in inputs is empty
  outputs = ["/tmp/x"]           # ERROR: a pattern in outputs is an absolute path
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
