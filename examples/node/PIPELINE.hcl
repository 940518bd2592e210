# A Node project with a failing test. node_modules is ignored by git and comes along into the copy.

task "test" {
  description = "Run the tests"
  run         = ["node", "--test"]
  timeout     = "2m"

  on_fail "agent" {
    use    = agent.fixer
    prompt = "Fix the code, not the test."
    budget {
      attempts   = 1
      wall_clock = "2m"
    }
  }
}

agent "fixer" {
  command = ["node", "tools/fixer.mjs"]
}
