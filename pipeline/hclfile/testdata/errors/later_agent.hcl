agent "a" {
  command = ["./a"]
  cli     = "claude" # ERROR: `cli` needs
  args    = []       # ERROR: `args` needs
}
