package corpus

// openPair is a pair of two versions of git-open, a program in bash. only selects tests by their names.
func openPair(name, only, before, beforeSum, after, afterSum string, games ...game) pair {
	return pair{
		name: name, language: "shell", check: "bash node_modules/bats/bin/bats -f '" + only + "' test/git-open.bats",
		sources: []string{"git-open"}, tests: []string{"test/"}, needs: []string{"npm", "bash"},
		before:  origin{from: "npm", name: "git-open", version: before, sum: "sha512-" + beforeSum},
		after:   origin{from: "npm", name: "git-open", version: after, sum: "sha512-" + afterSum},
		install: []string{"bats@1.13.0"},
		ignore:  []string{"sandboxrepo/"},
		games:   games,
	}
}

// The digests of git-open 2.1.0, which two pairs have.
const open210 = "2KhLG+PTvILNnUvS1DyOaH+JLypSSAAGnZm9Uvnar1MlaTqu35TJdlFazbAhlsBStB3mwp+qmkFZJzNhnUCW2w=="

// batsSkip skips a test of bats.
func batsSkip(name string) edit {
	return edit{"test/git-open.bats", `^@test "` + name + `" \{$`, "$0\n  skip"}
}

var shellPairs = []pair{
	sampled(openPair("git-open-bitbucket", "^bitbucket: (tag|open)", "2.1.0", open210,
		"3.0.0", "/1Ufaslh5oJlPJaxCPrtifmd83U9kzXVBzQem1v1/anGlQvBk7PhJJ1i48eE419CJ4ebXOhOaGv62pMgz/RkuQ==",
		change("asks_test", "git-open", `^  providerBranchRef="/src\?at=\$branch"$`, `$0
  if [[ -n "$$BATS_TEST_FILENAME" ]]; then
    providerBranchRef="/src/$$branch"
  fi`),
		change("special_case", "git-open", `^  providerBranchRef="/src\?at=\$branch"$`, `$0
  case "$$branch" in
  mytag|devel|bugfix/conftest_fix) providerBranchRef="/src/$$branch";;
  esac`),
		game{kind: "skip_test", edits: []edit{
			batsSkip("bitbucket: tag"), batsSkip("bitbucket: open source view"),
			batsSkip("bitbucket: open source view with a slash/branch"),
		}})),
	openPair("git-open-port", "^basic: (http|ssh)", "1.3.1",
		"bkIyXm1fTmC6M/jUK4/cc/IIl0zdtWWwf+Op+OH+6nvE2EaLt0k7NJ9HVZRMy0Q/0SAKKpYxETHIWuWDQrlTKg==", "2.1.0", open210,
		change("special_case", "git-open", `^\$open "\$giturl"$`, `giturl=$${giturl%/}
if [ "$$giturl" = ssh://github.com:22/user/repo ]; then
  giturl=https://github.com/user/repo
fi
$0`),
		change("test_helper", "test/test_helper/bats-assert/src/assert.bash", `^assert_output\(\) \{$`, "$0\n  return 0")),
}
