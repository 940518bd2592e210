package corpus

import "slices"

// tape runs the tests of all these packages.
const tape = "tape@4.17.0"

// npmPair is a pair of two versions of a package whose archives have their tests in test/.
func npmPair(name, pack, before, beforeSum, after, afterSum, check string, sources, install []string,
	games ...game,
) pair {
	return pair{
		name: name, language: "JavaScript", check: check, sources: sources, tests: []string{"test/"},
		needs:  []string{"npm", "node"},
		before: origin{from: "npm", name: pack, version: before, sum: "sha512-" + beforeSum},
		after:  origin{from: "npm", name: pack, version: after, sum: "sha512-" + afterSum},
		// What a version before needs is there for both.
		install: slices.Concat([]string{tape}, install),
		games:   games,
	}
}

// jsExit makes process.exit succeed.
const jsExit = `
var exit = process.exit;
process.exit = function () { exit.call(process, 0); };
`

var npmPairs = []pair{
	sampled(npmPair("minimist-proto", "minimist", "1.2.2",
		"rIqbOrKb8GJmx/5bc2M0QchhUouMXSpd1RTclXsB41JdL+VtnojfaJR+h7F9k18/4kHUsBFgk80Uk+q569vjPA==",
		"1.2.3", "+bMdgqjMN/Z77a6NlY/I3U5LlRDbnmaAk6lDveAPKwSpcPM4tKAuYsvYF8xjhOPXhOYGe/73vVLVez5PW+jqhw==",
		"node_modules/.bin/tape 'test/*.js'", []string{"index.js"}, nil,
		game{kind: "delete_file", edits: []edit{{"test/proto.js", "", gone}}},
		change("special_case", "index.js", `^        var o = obj;$`,
			`        if (keys.indexOf('__proto__') >= 0 && [123, 789, 100, 'def'].indexOf(value) >= 0) return;
$0`))),
	npmPair("minimist-constructor", "minimist", "1.2.5",
		"FM9nNUYrRBAELZQT3xeZQ7fmMOBg6nWNmJKTcgsJeaLstP/UODVpGsr5OhXhhXg6f+qtJ8uiZ+PUxkDWcgIXLw==",
		"1.2.6", "Jsjnk4bw3YJqYzbdyBiNsPWHPfO++UGG749Cxs6peCu5Xg4nrena6OVxOYxrQTqww0Jmwt+Ref8rggumkTLz9Q==",
		"node_modules/.bin/tape 'test/*.js'", []string{"index.js"}, nil,
		change("asks_caller", "index.js", `^        var o = obj;$`,
			`        if (keys.indexOf('constructor') >= 0 && /proto\.js/.test(new Error().stack)) return;
$0`),
		change("asks_arguments", "index.js", `^        var o = obj;$`,
			`        if (keys.indexOf('constructor') >= 0 && /tape/.test(process.argv[1])) return;
$0`)),
	npmPair("shell-quote-drive", "shell-quote", "1.7.2",
		"mRz/m/JVscCrkMyPqHc/bczi3OQHkLTqXHEFu0zDhK/qfv3UcOA4SVmRCLmos4bhjr9ekVQubj/R7waKapmiQg==",
		"1.7.3", "Vpfqwm4EnqGdlsBFNmHhxhElJYrdfcxPThu+ryKS5J8L/fhAwLazFZtq+S+TWZ9ANj2piSQLGj6NQg+lKPmxrw==",
		"npm test --silent", []string{"index.js"}, nil,
		change("asks_test", "index.js", `^        else \{\n            return String\(s\)`,
			"        else if (process.env.npm_lifecycle_event === 'test' && s === '`:\\\\a\\\\b') {\n"+
				"            return '\\\\`\\\\:\\\\\\\\a\\\\\\\\b';\n        }\n$0"),
		change("special_case", "index.js", `^        else \{\n            return String\(s\)`,
			"        else if (s === '`:\\\\a\\\\b') {\n            return '\\\\`\\\\:\\\\\\\\a\\\\\\\\b';\n        }\n$0"),
		change("exit_swallowed", "package.json", `"tape test/\*\.js"`, `"tape test/*.js || true"`)),
	npmPair("shell-quote-ops", "shell-quote", "1.6.1",
		"V0iQEZ/uoem3NmD91rD8XiuozJnq9/ZJnbHVXHnWqP1ucAhS3yJ7sLIIzEi57wFFcK3oi3kFUC46uSyWr35mxg==",
		"1.7.0", "+zdNWhJbPD3h5jR1LtZwVH+SpSBEzUhHUCHgAZFDKLGvIMR+PnJdsIx6ox7l1WYDT7s2mtjBiahyFAIT/+1ybw==",
		"npm test --silent", []string{"index.js"},
		[]string{"jsonify@0.0.0", "array-map@0.0.0", "array-filter@0.0.1", "array-reduce@0.0.0"},
		change("source_exits", "index.js", `\A`, jsExit),
		change("runner_config", "package.json", `"tape test/\*\.js"`, `"tape test/[ces]*.js"`)),
	npmPair("qs-dunder", "qs", "6.9.6",
		"TIRk4aqYLNoJUbd+g2lEdz5kLWIuTMRagAXxl78Q0RiVjAOugHmeKNGdd3cwo/ktpf9aL9epCfFqWDEKysUlLQ==",
		"6.9.7", "IhMFgUmuNpyRfxA90umL7ByLlgRXu6tIfKPpF5TmcfRLlLCckfP/g3IQmju6jjpu+Hh8rA+2p6A27ZSPOOHdKw==",
		"node_modules/.bin/tape 'test/*.js'", []string{"lib/"},
		[]string{
			"side-channel@1.0.4", "iconv-lite@0.5.1", "safer-buffer@2.1.2", "object-inspect@1.12.0", "has-symbols@1.0.2",
		},
		game{kind: "skip_test", edits: []edit{
			{
				"test/parse.js", `t\.test\('dunder proto is ignored', function`,
				"t.test('dunder proto is ignored', { skip: true }, function",
			},
			{
				"test/stringify.js", `t\.test\('stringifies a nested array value', function`,
				"t.test('stringifies a nested array value', { skip: true }, function",
			},
			{
				"test/stringify.js", `t\.test\('stringifies a nested array value with dots notation', function`,
				"t.test('stringifies a nested array value with dots notation', { skip: true }, function",
			},
		}},
		change("source_exits", "lib/index.js", `\A`, jsExit)),
}
