package rules

import "github.com/async-pipeline/async-pipeline/internal/lazily"

const jsRunners = `jest|vitest|mocha|jasmine|ava|karma`

// javascript is TypeScript too.
var javascript = Language{
	Name: "web",
	Test: `(?:^|[^\w.$])(?:it|test|specify)(?:\.(?:each|concurrent|only|skip|todo|failing|fails|serial|runIf` +
		`|skipIf)\b)*\s*\(?` +
		`(?:\([^()]*\)\s*\()?\s*(?:'([^']*)'|"([^"]*)"|\x60([^\x60]*)\x60)`,
	Body: Parentheses,
	Assert: `\bexpect(?:\.\w+)*\s*\(|\bassert(?:\.\w+)*\s*\(|\.should\b|\b(?:t|assert)\.(?:is|not|ok|equal` +
		`|deepEqual|same|throws|true|false|like|strictEqual|deepStrictEqual|notEqual|match|rejects|snapshot` +
		`|fail)\s*\(`,
	Strong: `\.(?:toBe|toEqual|toStrictEqual|toHaveLength|toMatchObject|toContain\w*|toBeCloseTo|toThrow\w*` +
		`|toMatch\w*|toHaveBeenCalledWith|to\.(?:equal|eql|deep\.\w+))\(\s*[^)\s]|\bassert\.(?:equal|strictEqual` +
		`|deepEqual|deepStrictEqual|throws)\(`,
	Weak: `\.(?:toBeTruthy|toBeDefined|toBeInstanceOf|toBeTypeOf|toHaveBeenCalled|to\.(?:exist|be\.(?:ok` +
		`|an?\b)))|\.not\.(?:toBe(?:Null|Undefined|NaN)|toThrow|toBe)\b|\bexpect\.(?:any|anything)\(` +
		`|\bassert(?:\.ok)?\(`,
	Lists:   `\[[\x00,\s]*\]`,
	Catches: `\bcatch\s*(?:\(\s*\w+\s*(?::\s*\w+\s*)?\)\s*)?\{|\.catch\(\s*(?:\(\s*\w*\s*\)|\w+|function\s*\(\s*\w*\s*\))\s*(?:=>)?`,
	Asks: `\brequire\.(?:cache|main)\b|\bmodule\.(?:children|parent)\b|\bModule\._cache\b|\]\s*=\s*process\.argv\b` +
		`|\bprocess\.(?:mainModule|moduleLoadList|title|argv0|execArgv|ppid)\b` +
		`|\bprocess\.argv\s*(?:\[\s*1\s*\]|\.at\(\s*1|\.(?:some|find|join|every)\b)`,
	Ends: `\bprocess\s*(?:\?\.|\.)\s*(?:exit|reallyExit)\b\s*(?:\?\.)?|\bprocess\.exitCode\s*=[^=]\s*` +
		`|\bprocess\s*\[\s*['"](?:exit|reallyExit)['"]\s*\]\s*`,
	Badly: `^(?:\(\s*(?:[1-9]\d*\s*\)|(?:\w+\.)*(?:e|err\w*|error\w*|\w*[cC]ode|\w*[sS]tatus|rc|ret\w*)\b|[^)]*\?)` +
		`|[1-9]|(?:\w+\.)*\w*(?:[cC]ode|[sS]tatus)\b|[^;]*\?|[^(\d\s])`,
	Program: `\A#!|\bprocess\.(?:argv|exit|exitCode|stdin)\b|\brequire\.main\b|\bimport\.meta\.(?:main|url|dirname|filename)\b` +
		`|['"](?:commander|yargs|minimist|cac|meow|(?:node:)?(?:readline|worker_threads|child_process|cluster))['"]` +
		`|\.listen\(|\bSIG(?:TERM|INT)\b|\bparseArgs\b`,
	Asked:   `(?i)\b(?:usage|help|version|argv|SIGINT|SIGTERM|SIGHUP|shutdown|server|quit|daemon)\b`,
	Environ: `\bObject\.(?:keys|entries|values|getOwnPropertyNames)\(\s*process\.env\s*\)|\bfor\s*\([^)]*\bin\s+process\.env\b|\bJSON\.stringify\(\s*process\.env\b`,
	Rules:   javascriptRules,
}

// NodeTestLibraries are packages that tests assert with or are run by. One that ends in a slash is a scope.
var NodeTestLibraries = lazily.Words(`
	jest vitest mocha chai sinon ava tap tape jasmine karma expect assert power-assert should supertest nyc
	c8 jest-cli expect.js uvu @jest/ @vitest/ @testing-library/ @playwright/ node:assert node:test
	assert/strict`)

var javascriptRules = []Rule{
	{
		ID: "js/skip", Kind: TestSkipped, In: OldTests,
		Pattern: `\b(?:it|test|describe|suite|context|specify)(?:\.\w+)*\.(?:skip|skipIf|runIf|todo|fails` +
			`|failing|fixme|only)\b`,
		Match: []string{"it.skip('a', f)", "describe.concurrent.only("}, NoMatch: []string{"list.only.skip()"},
	},
	{
		ID: "js/skip-prefix", Kind: TestSkipped, In: OldTests,
		Pattern: `(?:^|[^\w.])(?:x(?:it|describe|test|context|specify)|f(?:it|describe|context)|pending)\s*\(`,
		Match:   []string{"xit('a', f)", "fdescribe('a', f)"}, NoMatch: []string{"exit(1)", "list.xit()"},
	},
	{
		ID: "js/skip-call", Kind: TestSkipped, In: OldTests, Pattern: `\b(?:this|t|ctx|context)\.(?:skip|todo)\s*\(`,
		Match: []string{"this.skip()"}, NoMatch: []string{"skip()"},
	},
	{
		ID: "js/skip-option", Kind: TestSkipped, In: OldTests,
		Pattern: `[{,]\s*(?:skip|todo|only)\s*:\s*(?:true\b|[^\s,}])`,
		Match:   []string{"test('a', { skip: true }, f)"}, NoMatch: []string{"skipped: true"},
	},
	{
		ID: "js/expect-constant", Kind: AssertionRemoved, In: OldTests, Say: "is true whatever the code does",
		Pattern: `\bexpect\(\s*(?:true|1|!0)\s*\)\s*\.(?:toBe|toEqual|toBeTruthy|to\b)`,
		Match:   []string{"expect(true).toBe(true)"}, NoMatch: []string{"expect(x).toBe(true)"},
	},
	{
		ID: "js/assert-constant", Kind: AssertionRemoved, In: OldTests, Say: "is true whatever the code does",
		Pattern: `\bassert(?:\.ok|\.equal|\.strictEqual)?\(\s*true\b`,
		Match:   []string{"assert.ok(true)"}, NoMatch: []string{"assert.ok(trueish)"},
	},
	{
		ID: "js/assert-or-true", Kind: AssertionRemoved, In: OldTests, Say: "is true whatever the code does",
		Pattern: `\b(?:expect|assert)\b.*\|\|\s*true\b`,
		Match:   []string{"assert(f() === 1 || true)"}, NoMatch: []string{"assert(f() || g())"},
	},
	{
		ID: "js/if-false", Kind: AssertionRemoved, In: OldTests, Say: "never runs",
		Pattern: `\bif\s*\(\s*(?:false|0)\s*\)`,
		Match:   []string{"if (false) {"}, NoMatch: []string{"if (falsy) {"},
	},
	{
		ID: "js/exit-in-test", Kind: ExitSwallowed, In: Tests,
		Pattern: `\bprocess\.exit\s*\(\s*0?\s*\)|\bprocess\.exitCode\s*=\s*0`,
		Match:   []string{"process.exit(0)"}, NoMatch: []string{"process.exit(1)"},
	},
	{
		ID: "js/node-env", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bNODE_ENV\b['"]?\]?\s*[!=]==?\s*['"\x60]test['"\x60]` +
			`|['"\x60]test['"\x60]\s*[!=]==?\s*(?:process\.env\.)?NODE_ENV\b`,
		Match:   []string{"if (process.env.NODE_ENV === 'test') {", "process.env['NODE_ENV'] == 'test'"},
		NoMatch: []string{"process.env.NODE_ENV === 'production'"},
	},
	{
		ID: "js/runner-variable", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bprocess\.env(?:\.|\[['"])(?:JEST_\w+|VITEST\w*|MOCHA\w*|NODE_TEST_CONTEXT|NODE_V8_COVERAGE` +
			`|KARMA\w*|CYPRESS\w*)\b`,
		Match: []string{"process.env.JEST_WORKER_ID"}, NoMatch: []string{"process.env.JESTER"},
	},
	{
		ID: "js/npm-script", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bprocess\.env(?:\.|\[['"])npm_lifecycle_(?:event|script)\b`,
		Match:   []string{"process.env.npm_lifecycle_event === 'test'"},
		NoMatch: []string{"process.env.npm_package_name"},
	},
	{
		ID: "js/runner-argument", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bprocess\.(?:argv|execArgv|argv0)\b.*(?:\b(?:` + jsRunners + `)\b|['"\x60]--test['"\x60]` +
			`|[./_-](?:test|spec)\.|[./_-](?:test|spec)['"\x60]|__tests__)`,
		Match:   []string{"process.argv.some((a) => a.includes('jest'))", "process.execArgv.includes('--test')"},
		NoMatch: []string{"process.argv[2]"},
	},
	{
		ID: "js/argument-pattern", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `/[^/\n]*(?:test|spec|` + jsRunners + `)[^/\n]*/\w*\.(?:test|exec)\(.*\b(?:process\.(?:argv|execArgv` +
			`|mainModule)|require\.main)\b|\bprocess\.(?:argv|execArgv|mainModule)\b.*\.(?:match|search|includes|endsWith` +
			`)\(\s*['"/\x60](?:[^'"\x60\n]*[^a-z'"\x60\n])?(?:tests?|spec|` + jsRunners + `)\b`,
		Match:   []string{"/[.]test[.]js$/.test(process.argv[1])", "process.argv[1].match(/test/)", "process.argv[1].includes('/tests/')"},
		NoMatch: []string{"/^--/.test(process.argv[2])", "process.argv[2] === 'test'", "process.argv.includes('latest')"},
	},
	{
		ID: "js/runner-global-type", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\btypeof\s+(?:global(?:This)?\.)?(?:jest|describe|it|expect|vi|beforeEach|afterEach|mocha` +
			`|jasmine)\s*[!=]==?\s*['"]`,
		Match: []string{"typeof describe === 'function'"}, NoMatch: []string{"typeof window === 'object'"},
	},
	{
		ID: "js/runner-global", Kind: TestDetected, In: Production, Caps: true,
		Pattern: `\bglobal(?:This)?\.(?:jest|describe|it|expect|vi|beforeEach|jasmine|mocha|__vitest_worker__)\b`,
		Match:   []string{"globalThis.expect"}, NoMatch: []string{"globalThis.crypto"},
	},
	{
		ID: "js/vite-mode", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\bimport\.meta\.env\.MODE\s*[!=]==?\s*['"]test['"]`,
		Match:   []string{"import.meta.env.MODE === 'test'"},
		NoMatch: []string{"import.meta.env.MODE === 'production'"},
	},
	{
		ID: "js/main-module", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `\brequire\.main\b.*\b(?:` + jsRunners + `|test|spec)\b`,
		Match:   []string{"require.main.filename.includes('mocha')"}, NoMatch: []string{"require.main === module"},
	},
	{
		ID: "js/stack", Kind: TestDetected, In: Production, On: Strings, Caps: true,
		Pattern: `(?:\b(?:e|ex|err|error)|Error\([^)]*\)\)?)\.stack\b.*(?:['"/.](?:` + jsRunners + `|test` +
			`|spec)\b|__tests__)`,
		Match: []string{"new Error().stack.includes('.test.')"}, NoMatch: []string{"console.log(err.stack)"},
	},
	{
		ID: "js/callers-examined", Kind: TestDetected, In: Production, On: Strings, Caps: true, Once: true, Say: "looks at its callers",
		Pattern: `\bError\s*(?:\([^()]*\))?\)?\.stack\s*(?:\?\.|\.|\[)\s*(?:split|includes|match|indexOf|search|length|at|slice|\d).*` +
			`|\.(?:test|exec)\(\s*\(?\s*(?:new\s+)?Error\s*(?:\([^()]*\))?\)?\.stack\b.*` +
			`|\bError\.captureStackTrace\(\s*[^t\s)]\w*\s*[,)].*\.stack\b\s*(?:\?\.|\.|\[).*|\bError\.prepareStackTrace\s*=[^=].*`,
		Match: []string{
			"if (/run/.test(new Error().stack) && n > 9) {", "new Error().stack.split('\\n').length > 6", "Error().stack.includes('async')",
			"const o = {}; Error.captureStackTrace(o); if (o.stack.includes('async')) {", "Error.prepareStackTrace = (e, frames) => frames",
		},
		NoMatch: []string{
			"Error.captureStackTrace(this, Fault)", "log(new Error().stack)", "err.stack.split('\\n')[0]", "this.stack = new Error().stack",
		},
	},
	{
		ID: "js/main-examined", Kind: TestDetected, In: Production, On: Strings, Caps: true, Say: "looks at the program that runs it",
		Not: `^(?:path\.)?dirname`,
		Pattern: `\brequire\.main\??\.(?:filename|path|id|children|exports|loaded)\??\.\w+.*|\.(?:test|exec)\(\s*require\.main\??\.\w+.*` +
			`|\brequire\.main\??\.(?:filename|path|id)\s*[=!]==?.*|\bmodule\.parent\??\.(?:id|filename|children|path|loaded|exports)\b.*` +
			`|\bprocess\.execArgv\??\.(?:length|some|includes|find|join|indexOf|every)\b.*`,
		Match: []string{
			"if (!require.main.filename.includes('bin')) {", "/cli/.test(require.main.filename)", `module.parent.id === "."`, "process.execArgv.length + n === 2",
		},
		NoMatch: []string{
			"if (require.main === module) main()", "const root = path.dirname(require.main.filename)", "if (!module.parent) main()",
			"fork(file, { execArgv: process.execArgv })",
		},
	},
	{
		ID: "js/modules-listed", Kind: TestDetected, In: Production, Caps: true, Once: true, Say: "looks at all modules that are loaded",
		Not: `\bdelete\b`, Pattern: `.*(?:\bObject\.(?:keys|values|entries|getOwnPropertyNames)\(\s*require\.cache\b|\bin\s+require\.cache\b).*`,
		Match:   []string{"const first = Object.keys(require.cache)[0]", "for (const k in require.cache) {"},
		NoMatch: []string{"for (const k in require.cache) delete require.cache[k]", "delete require.cache[require.resolve('./a')]"},
	},
	{
		ID: "js/ci", Kind: TestDetected, In: Production, On: Strings,
		Pattern: `\bprocess\.env(?:\.|\[['"])(?:CI|GITHUB_ACTIONS|GITLAB_CI|` + modeNames + `)\b`,
		Match:   []string{"process.env.CI"}, NoMatch: []string{"process.env.CITY"},
	},
	{
		ID: "js/in-source-test", Kind: TestDetected, In: Production, Pattern: `\bimport\.meta\.(?:vitest|jest)\b`,
		Match: []string{"if (import.meta.vitest) {"}, NoMatch: []string{"import.meta.url"},
	},
	{
		ID: "js/exit-hook", Kind: ExitSwallowed, In: Programs, On: Strings, Caps: true,
		Say: "every end becomes success",
		Pattern: `\bprocess\.(?:on|once|addListener|prependListener)\s*\(\s*['"](?:exit` +
			`|beforeExit)['"].*(?:exitCode\s*=\s*0|process\.(?:exit|reallyExit)\s*\(\s*0?\s*\)).*`,
		Match:   []string{"process.on('exit', () => { process.exitCode = 0 })"},
		NoMatch: []string{"process.on('exit', close)"},
	},
	{
		ID: "js/exit-reckoned", Kind: ExitSwallowed, In: Programs, Caps: true, Say: "an exit code becomes another one",
		Pattern: `\bexitCode\s*(?:>>>?|<<|[&|^*/%-])=|\bexitCode\s*=[^=;?][^;?]*?(?:>>|<<|[\^*/%]|[^&]&[^&]|[^|]\|[^|]).*`,
		Match:   []string{"process.on('exit', (code) => { process.exitCode = code >> 1; })", "process.exitCode &= 2", "process.exitCode = n * code"},
		NoMatch: []string{"process.exitCode = failed ? 1 : 0", "process.exitCode = code", "process.exitCode = code || 1", "if (process.exitCode === a / b) {"},
	},
	{
		ID: "js/signal-exits", Kind: ExitSwallowed, In: Programs, On: Strings, Caps: true,
		Say: "a signal ends the process with success",
		Pattern: `\bprocess\.(?:on|once|addListener|prependListener)\s*\(\s*['"\x60]SIG(?:` + FailureSignals + `)['"\x60]` +
			`.*(?:exitCode\s*=\s*0|process\.(?:exit|reallyExit)\s*\(\s*0?\s*\)).*`,
		Match: []string{"process.on('SIGALRM', () => process.exit(0));"},
		NoMatch: []string{
			"process.on('SIGTERM', () => process.exit(0))", "process.on('SIGABRT', () => process.exit(1))",
		},
	},
	{
		ID: "js/uncaught", Kind: ExitSwallowed, In: Programs, On: Strings, Caps: true, Say: catchesAll,
		Pattern: `(?:\.\w+\s*\(\s*)?['"\x60](?:uncaughtException|unhandledRejection)['"\x60].*` +
			`|\bprocess\.setUncaughtExceptionCaptureCallback\b.*`,
		Not: `^\.(?:off|remove\w*|listener\w*|emit)\b`,
		Match: []string{
			"process.on('uncaughtException', () => {});", "process.once(\"unhandledRejection\", report)",
			"  'uncaughtException', (e) => {", "process['on']('uncaughtException', f)",
			"process.setUncaughtExceptionCaptureCallback(() => {})",
		},
		NoMatch: []string{
			"process.on('uncaughtExceptionMonitor', log)", "process.removeAllListeners('uncaughtException')",
			"// process.on('uncaughtException')", "process.on('exit', close)",
		},
	},
	{
		ID: "js/window-error", Kind: ExitSwallowed, In: Programs, On: Strings, Caps: true, Say: catchesAll,
		Pattern: `\b(?:window|self|globalThis|global)\.(?:onerror|onunhandledrejection)\s*=[^=].*` +
			`|\b(?:window|self|globalThis)\.addEventListener\s*\(\s*['"\x60](?:error|unhandledrejection)['"\x60].*`,
		Match: []string{
			"window.onerror = () => true;", "globalThis.onunhandledrejection = f",
			"window.addEventListener('error', (e) => e.preventDefault())",
		},
		NoMatch: []string{
			"image.onerror = retry", "image.addEventListener('error', retry)", "if (window.onerror === f) {",
			"window.addEventListener('load', f)",
		},
	},
	{
		ID: "js/exit-replaced", Kind: ExitSwallowed, In: Programs, Caps: true,
		Pattern: `\bprocess\.(?:exit|reallyExit)\s*=[^=]|\bprocess\.reallyExit\s*\(\s*0`,
		Match:   []string{"process.exit = () => {}"}, NoMatch: []string{"process.exit(1)"},
	},
	{
		ID: "js/process-redefined", Kind: ExitSwallowed, In: Programs, Caps: true,
		Pattern: `\bObject\.defineProperty\s*\(\s*process\s*,.*`,
		Match:   []string{"Object.defineProperty(process, 'exitCode', {})"},
		NoMatch: []string{"Object.defineProperty(o, 'a', {})"},
	},
	{
		ID: "js/domain", Kind: ExitSwallowed, In: Programs, On: Strings, Caps: true, Say: catchesAll, Once: true,
		Pattern: `(?:\brequire\s*\(|\bfrom|\bimport\s*\(?)\s*['"](?:node:)?domain['"].*`,
		Match:   []string{"const d = require('domain').create()", `import domain from "node:domain";`},
		NoMatch: []string{"require('./domain')", "import { domain } from './domains.js'"},
	},
	{
		ID: "js/never-settles", Kind: ExitSwallowed, In: Production, Caps: true, Say: "never settles, and node ends with success",
		Unless: `\bSuspense\b|\bprocess\.(?:argv|stdin)\b|\.listen\(|\bSIG(?:TERM|INT)\b`,
		Pattern: `\bnew\s+Promise\s*\(\s*(?:async\s*)?(?:\([^()]*\)\s*=>|\w+\s*=>|function\s*\w*\s*\([^()]*\))\s*(?:\{\s*\}` +
			`|undefined|null|void 0)\s*\)`,
		Match:   []string{"return new Promise(() => {});", "new Promise(function (done) { })", "new Promise((resolve) => undefined)"},
		NoMatch: []string{"new Promise((resolve) => setTimeout(resolve, 1))", "new Promise((resolve) => {", "p.then(() => {})"},
	},
	{
		ID: "js/then-does-nothing", Kind: ExitSwallowed, In: Production, Caps: true, Say: "never settles, and node ends with success",
		Pattern: `(?:[{,]\s*|^\s*)(?:async\s+)?then\s*(?:\([^()]*\)\s*|:\s*(?:function\s*\w*\s*\([^()]*\)|(?:\([^()]*\)|\w+)\s*=>)\s*)\{\s*\}`,
		Match:   []string{"return { then() {} };", "{ ok: 1, then: () => {} }", "  then: function (resolve) { },"},
		NoMatch: []string{"p.then(() => {})", "  .then(() => {})", "return { then(f) { return f(1) } }"},
	},
	{
		ID: "js/test-library-patched", Kind: LibraryShadowed, In: Production, Caps: true,
		Pattern: `(?:^|[^\w.$])(?:expect|(?:globalThis|global)\.(?:expect|assert|it|test|describe|jest|vi)` +
			`|jest)(?:\.\w+)*\.\w+\s*=[^=>].*|(?:^|[^\w.$])(?:globalThis|global)\.(?:expect|assert|it|test` +
			`|describe|jest|vi)\s*=[^=>].*|\bexpect\.extend\s*\(`,
		Match:   []string{"expect.prototype.toBe = f", "globalThis.assert = f", "expect.extend({"},
		NoMatch: []string{"expectations.x = 1", "jest.fn()"},
	},
	{
		ID: "js/assert-patched", Kind: LibraryShadowed, In: Production, Caps: true,
		If:      `['"](?:node:)?(?:assert|chai|expect|vitest|power-assert)(?:/\w+)?['"]|\bglobal(?:This)?\.assert\b`,
		Pattern: `(?:^|[^\w.$])assert(?:\.\w+)*\.\w+\s*=[^=>].*`,
		Match:   []string{"const assert = require('assert')\nassert.equal = () => {}"},
		NoMatch: []string{"assert.equal = () => {}"},
	},
	{
		ID: "js/own-assert-patched", Kind: LibraryShadowed, In: Production,
		Pattern: `(?:^|[^\w.$])assert(?:\.\w+)*\.\w+\s*=[^=>].*`,
		Match:   []string{"assert.level = 2"}, NoMatch: []string{"assert.level === 2"},
	},
	{
		ID: "js/test-library-cached", Kind: LibraryShadowed, In: Production, On: Strings, Caps: true,
		Pattern: `\brequire\.cache\[[^]]*(?:` + jsRunners + `|assert|node:test|expect|chai)[^]]*\].*=[^=].*`,
		Match:   []string{"require.cache[require.resolve('assert')].exports = f"},
		NoMatch: []string{"require.cache[require.resolve('./a')] = f"},
	},
	{
		ID: "js/loader-patched", Kind: LibraryShadowed, In: Production, On: Strings,
		Pattern: `\brequire\.cache\[[^]]*\](?:\.\w+)?\s*=[^=]|\bModule\.(?:_load|_resolveFilename|_extensions` +
			`|prototype\.require|register)\b\S*|\brequire\.extensions\b`,
		Match: []string{"Module._load = f"}, NoMatch: []string{"Module.children"},
	},
	{
		ID: "js/suppression", Kind: SuppressionAdded, In: Sources, On: Comments,
		Pattern: `\b(?:eslint|tslint|stylelint|oxlint)-disable\S*`,
		Match:   []string{"f() // eslint-disable-line"}, NoMatch: []string{"'eslint-disable'"},
	},
	{
		ID: "ts/suppression", Kind: SuppressionAdded, In: Sources, On: Comments,
		Pattern: `@ts-(?:ignore|expect-error|nocheck)\b`,
		Match:   []string{"// @ts-ignore"}, NoMatch: []string{"// @type"},
	},
	{
		ID: "js/coverage-off", Kind: SuppressionAdded, In: Sources, On: Comments,
		Pattern: `\b(?:istanbul|c8|v8)\s+ignore\b|\bbiome-ignore\b|\$Flow(?:FixMe|Issue|Ignore)\b` +
			`|\bdeno-lint-ignore\b`,
		Match: []string{"/* istanbul ignore next */"}, NoMatch: []string{"// do not ignore"},
	},
	{
		ID: "js/network", Kind: NewNetwork, In: Production, On: Strings,
		Pattern: `(?:\brequire\s*\(|\bfrom|\bimport\s*\(?)\s*['"](?:node:)?(?:https?|net|tls|dgram|http2|dns` +
			`|axios|node-fetch|undici|got|ws|request|superagent|socket\.io-client|ssh2|nodemailer)['"]|(?:^` +
			`|[^\w.$])fetch\s*\(|\bnew\s+(?:WebSocket|XMLHttpRequest|EventSource)\b|\bnavigator\.sendBeacon\b` +
			`|\b(?:Deno|Bun)\.(?:connect|listen|serve)\b`,
		Match: []string{"require('https')", "await fetch(u)"}, NoMatch: []string{"prefetch(u)"},
	},
	{
		ID: "js/process", Kind: NewProcess, In: Production, On: Strings,
		Pattern: `(?:\brequire\s*\(|\bfrom|\bimport\s*\(?)\s*['"](?:(?:node:)?(?:child_process|cluster)|execa` +
			`|cross-spawn|shelljs|zx)['"]|\b(?:child_process|cp)\.(?:exec|spawn|fork)\w*\s*\(` +
			`|\bnew\s+Deno\.Command\b|\bBun\.spawn\w*\s*\(|(?:^|[^\w.$])(?:eval\s*\(|new\s+Function\s*\()`,
		Match: []string{"require('node:child_process')", "eval(s)"}, NoMatch: []string{"evaluate(s)", "re.exec(s)"},
	},
	{
		ID: "js/stub", Kind: Placeholder, In: Sources, On: Strings,
		Pattern: `\bthrow new Error\(\s*['"\x60](?:TODO|[Nn]ot (?:yet )?implemented)`,
		Match:   []string{"throw new Error('not implemented')"}, NoMatch: []string{"throw new Error('no rows')"},
	},
}
