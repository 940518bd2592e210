agent "m" {
  command = ["./a"]
}
task "a" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget {
      attempts   = 1
      wall_clock = "5m"
    }
    network = "none" # ERROR: `network` needs confinement of the network, which this version does not have
  }
}
