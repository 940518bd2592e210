# An agent that misbehaves. Whatever it does, the tree stays as it is, the run stays failed, nothing is left running,
# and what it did is on record. Try: async-pipeline run --var misdeed=hang
# The same failure is not healed twice while its proposal is open: the next misdeed needs async-pipeline heal --var misdeed=fork

variable "misdeed" {
  type        = string
  default     = "outside"
  description = "hang, fork, outside or garbage"
}

task "check" {
  description = "Fails until greeting.txt says hello"
  run         = ["grep", "-qx", "hello", "greeting.txt"]

  on_fail "agent" {
    use = agent.rogue
    budget {
      attempts   = 1
      wall_clock = "20s"
    }
  }
}

agent "rogue" {
  command = ["./tools/rogue.sh", var.misdeed]
}
