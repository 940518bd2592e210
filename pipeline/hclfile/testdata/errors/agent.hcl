agent "none" { # ERROR: agent "none" has no cli, no provider and no command
}
agent "both" {
  command  = ["./a"]
  provider = "anthropic" # ERROR: has a command and a provider
}
agent "program" {
  command   = ["./a"]
  model     = "m"         # ERROR: is a command and has model
  base_url  = "https://x" # ERROR: is a command and has base_url
  api_key   = secret("K") # ERROR: is a command and has api_key
  max_turns = 3           # ERROR: is a command and has max_turns
}
agent "given" {
  command  = ["./a"]
  env      = { "A B" = "x" }       # ERROR: "A B" cannot be the name of a variable
  pass_env = ["A=B"]               # ERROR: "A=B" is not a name in the environment
  files = [
    "/etc/token",                  # ERROR: "/etc/token" in files is no file below HOME: Write the name of a file below your HOME: "~/.config/mine/token"
    "~/../other/token",            # ERROR: in files is no file below HOME
    "~/.config/mine/",             # ERROR: in files is no file below HOME
    "~/.config/*",                 # ERROR: in files is a pattern: Name each file
  ]
}
agent "ours" {
  provider = "openai"
  model    = "m"
  env      = { A = "b" } # ERROR: has a provider and env: It is for programs
  pass_env = ["A"]       # ERROR: has a provider and pass_env
  files    = ["~/a"]     # ERROR: has a provider and files
}
agent "retries" {
  command = ["./a"]
  retry {
    extra_kinds  = ["Gateway blip"] # ERROR: "Gateway blip" is no kind of failure: A kind begins with a small letter
    on_null_kind = "yes"            # ERROR: on_null_kind must be true or false
  }
}
agent "loop" {
  provider = "antropic" # ERROR: there is no provider "antropic"
  model    = "m"
  retry { # ERROR: has a provider and a retry block
  }
}
agent "nameless" {
  provider = "openai"
  model    = "  " # ERROR: model is no name
}
agent "modelless" { # ERROR: has a provider and no model
  provider = "openai"
}
agent "open" {
  provider = "openai_chat"
  model    = "m"
  base_url = "http://example.com" # ERROR: base_url cannot be used: the base URL "http://example.com" would send the key unencrypted: Write https://, or http:// to a loopback
  api_key  = "sk-123456789"       # ERROR: api_key is written in the file
}
agent "odd" {
  provider  = "gemini"
  model     = "m"
  base_url  = "https://me:pw@example.com" # ERROR: a user or a password: Write the key as api_key.
  max_turns = 0                           # ERROR: from 1 to 1000
}
agent "file" {
  provider = "gemini"
  model    = "m"
  base_url = "file:///etc" # ERROR: names no host: Write https://host/path.
}
agent "query" {
  provider = "gemini"
  model    = "m"
  base_url = "https://x/?key=1" # ERROR: a query or a fragment
}
agent "empty" {
  provider = "gemini"
  model    = "m"
  base_url = "" # ERROR: base_url is empty: Leave it out
}
agent "hidden" {
  provider = "gemini"
  model    = "m"
  base_url = secret("TOKEN") # ERROR: secret
}
agent "here" {
  provider = "openai"
  model    = "m"
  base_url = "http://127.0.0.1:8080/v1"
}
task "a" {
  run = ["true"]
  on_fail "agent" {
    use = agent.here
    budget {
      attempts   = 1
      wall_clock = "5m"
      tokens     = 0   # ERROR: tokens must be a whole number, 1 or more
      cost_usd   = "1" # ERROR: cost_usd must be a number
    }
    fallback = [agent.here, agent.program] # ERROR: agent "here" is named twice
  }
}
task "b" {
  run = ["true"]
  on_fail "agent" {
    use = agent.here
    budget {
      attempts   = 1
      wall_clock = "5m"
      tokens     = 1.5 # ERROR: tokens must be a whole number
      cost_usd   = -1  # ERROR: cost_usd must be more than nothing
    }
    fallback = agent.program # ERROR: fallback must be a list
  }
}
task "c" {
  run = ["true"]
  on_fail "agent" {
    use = agent.here
    budget {
      attempts   = 1
      wall_clock = "5m"
      cost_usd   = 1000000.01 # ERROR: cost_usd must be at most 1000000: Leave it out for no cap
    }
  }
}
task "d" {
  run = ["true"]
  on_fail "agent" {
    use = agent.here
    budget {
      attempts   = 1
      wall_clock = "5m"
      cost_usd   = 1000000
    }
  }
}
agent "two" {
  command = ["./a"]
  cli     = "claude" # ERROR: has a command and a cli
}
agent "misspelled" {
  cli = "claud" # ERROR: there is no CLI "claud": Did you mean claude?
}
agent "args" {
  provider = "openai"
  model    = "m"
  args     = ["--x"] # ERROR: has a provider and args
}
agent "reserved" {
  cli       = "claude"
  args      = ["--fine", "--output-format=text", "-p"] # ERROR: args has --output-format: async-pipeline gives it to claude itself # ERROR: args has -p
  max_turns = 3                                       # ERROR: has a cli and max_turns
}
agent "settings" {
  cli  = "codex"
  args = ["--config=model_provider=x", "--color"] # ERROR: args has --config: a setting of codex can lead its requests to another provider # ERROR: args has --color
}
agent "positional" {
  cli  = "claude"
  args = ["--max-turns", "5", "--bare", "do it", "--"] # ERROR: args has do it: claude would read it as a prompt # ERROR: args has --: claude
}
agent "one_protocol" {
  cli      = "codex"
  provider = "openai" # ERROR: codex speaks one protocol only, openai
  api_key  = secret("K")
}
