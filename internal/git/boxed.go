package git

// What git needs to be told inside a box, where it runs with somebody else's home.

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// ConfigEnv is configuration (key and value) as environment variables, which git puts above every file.
func ConfigEnv(entries [][2]string) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(entries))}
	for i, e := range entries {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, e[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, e[1]))
	}
	return env
}

// Filters are the clean and smudge filters of the person's configuration (key and value): for those who run git with
// another home and should not see every filtered file as changed. Asking runs none of them.
func (r *Repo) Filters(ctx context.Context) ([][2]string, error) {
	out, err := call{dir: r.Top, args: []string{"config", "--null", "--get-regexp", `^filter\.`}}.run(ctx)
	if err != nil {
		if exitCode(err) == 1 { // none
			return nil, nil
		}
		return nil, err
	}
	var filters [][2]string
	for _, entry := range split(out) {
		if key, value, ok := strings.Cut(entry, "\n"); ok {
			filters = append(filters, [2]string{key, value})
		}
	}
	return filters, nil
}
