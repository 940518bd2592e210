// The names that a pipeline may give to variables of the environment.
package pipeline

import "regexp"

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// EnvNameRule is what IsEnvName asks for, in words.
const EnvNameRule = "A name holds a-z, A-Z, 0-9, _ and ., and begins with a letter or _."

// IsEnvName says whether a variable that env or a dotenv file sets may have this name. A shell can read only letters,
// digits and _; dots are let through because programs such as Elasticsearch are set up by names with them. What pass_env lets
// through is somebody else's name, and not held to it.
func IsEnvName(name string) bool { return envName.MatchString(name) }
