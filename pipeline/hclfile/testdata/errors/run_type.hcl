task "a" {
  run = 5 # ERROR: run must be a list or text
}
task "b" {
  run = { a = 1 } # ERROR: It is a map.
}
task "c" {
  run = null # ERROR: run is null
}
task "d" {
  run = ["a", null] # ERROR: run is null
}
task "e" {
  run = ["a", ["b"]] # ERROR: It is a list.
}
task "f" {
  run = "a\u0000" # ERROR: run contains a NUL byte
}
task "g" {
  run = go # ERROR: Put text in quotes: "go".
}
