import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MAX_FILE_LINES, violations } from './rules.ts'

/** A file, and a part of the only finding expected for it, or `undefined` for none. */
interface Case {
  readonly name: string
  readonly path: string
  readonly text: string
  readonly found?: string
}

const imports = (from: string, to: string): Pick<Case, 'path' | 'text'> => ({
  path: from,
  text: `import { x } from '${to}'\n`,
})

const forbiddenImports: readonly [from: string, to: string][] = [
  ['src/base/cache.ts', '../model/zone.ts'],
  ['src/model/zone.ts', '../store/store.ts'],
  ['src/store/store.ts', '../token/issuer.ts'],
  ['src/token/issuer.ts', '../identity/source.ts'],
  ['src/mail/mailer.ts', '../identity/identity.ts'],
  ['src/clients/secrets.ts', '../web/bearer.ts'],
  ['src/clients/authentication/none.ts', '../../oauth/params.ts'],
  ['src/clients/secrets.ts', '../admin/clients/clients.ts'],
  ['src/token/issuer.ts', '../clients/secrets.ts'],
  ['src/identity/identity.ts', '../clients/secrets.ts'],
  ['src/records/client.ts', '../model/zone.ts'],
  ['src/identity/sources/ldap.ts', '../../token/issuer.ts'],
  ['src/identity/identity.ts', '../web/session.ts'],
  ['src/pages/login.ts', '../store/store.ts'],
  ['src/web/session.ts', '../identity/identity.ts'],
  ['src/web/session.ts', '../mail/mailer.ts'],
  ['src/ops/health.ts', '../token/issuer.ts'],
  ['src/oauth/grants/password.ts', '../../login/login.ts'],
  ['src/login/login.ts', '../oauth/authorize.ts'],
  ['src/oauth/users.ts', '../admin/clients.ts'],
  ['src/admin/clients/clients.ts', '../../oauth/users.ts'],
  ['src/web/session.ts', '../oauth/token.ts'],
  ['src/oauth/token.ts', '../app.ts'],
  ['src/cli/serve.ts', '../app.ts'],
  ['src/main.ts', './app/oauth.ts'],
  ['src/oauth/token.ts', '../app/oauth.ts'],
  ['src/app/login.ts', './oauth.ts'],
  ['src/app/login.ts', '../main.ts'],
  ['src/main/tasks.ts', '../main.ts'],
  ['src/cli/serve.ts', '../main/port.ts'],
  ['src/bootstrap.ts', './app.ts'],
  ['src/oauth/token.ts', '../main.ts'],
  ['src/oauth/token.ts', '../config.ts'],
  ['src/oauth/token.ts', '../bootstrap.ts'],
  ['src/oauth/token.ts', '../bootstrap/users.ts'],
  ['src/config.ts', './bootstrap.ts'],
  ['src/bootstrap/users.ts', '../app.ts'],
  ['src/bootstrap/clients.ts', '../admin/clients/writer.ts'],
  ['src/bootstrap.ts', './admin/users.ts'],
  ['src/oauth/token.ts', '../cli/serve.ts'],
  ['src/config.ts', './store/store.ts'],
  ['src/config.ts', './main.ts'],
  ['src/config-file.ts', './web/session.ts'],
  ['src/config/problems.ts', '../store/store.ts'],
  ['src/store/engine/sqlite/sqlite.ts', '../../../config/problems.ts'],
  ['src/main.ts', '../test/support/postgres.ts'],
  ['src/web/session.ts', '../../package.json'],
]

const allowedImports: readonly [from: string, to: string][] = [
  ['src/base/secrets.ts', './random.ts'],
  ['src/model/zone.ts', '../base/clock.ts'],
  ['src/store/engine/sqlite/sqlite.ts', '../../../model/zone.ts'],
  ['src/token/issuer.ts', '../store/store.ts'],
  ['src/mail/mailer.ts', '../model/zone.ts'],
  ['src/clients/authentication/private-key-jwt.ts', '../../token/foreign-keys.ts'],
  ['src/web/session.ts', '../clients/authentication/authentication.ts'],
  ['src/oauth/token.ts', '../clients/authentication/authentication.ts'],
  ['src/admin/clients/clients.ts', '../../clients/secrets.ts'],
  ['src/bootstrap/clients.ts', '../clients/secrets.ts'],
  ['src/identity/accounts.ts', '../mail/mailer.ts'],
  ['src/identity/sources/ldap.ts', '../source.ts'],
  ['src/pages/login.ts', '../base/html.ts'],
  ['src/web/session.ts', '../pages/layout.ts'],
  ['src/ops/health.ts', '../web/answers.ts'],
  ['src/oauth/grants/password.ts', '../../identity/identity.ts'],
  ['src/oauth/token.ts', './grants/password.ts'],
  ['src/admin/info.ts', '../ops/health.ts'],
  ['src/main.ts', './app.ts'],
  ['src/main.ts', '../package.json'],
  ['src/main.ts', './main/port.ts'],
  ['src/main/tasks.ts', '../ops/shared-tasks.ts'],
  ['src/app.ts', './login/login.ts'],
  ['src/app.ts', './app/login.ts'],
  ['src/app/login.ts', '../login/login.ts'],
  ['src/cli/serve.ts', '../main.ts'],
  ['src/cli/keys/keys.ts', '../store/store.ts'],
  ['src/bootstrap/users.ts', '../store/store.ts'],
  ['src/config.ts', './config-file.ts'],
  ['src/config.ts', './config/problems.ts'],
  ['src/config/problems.ts', '../model/zone.ts'],
  ['src/config.ts', './model/compatibility.ts'],
  ['test/app.test.ts', '../src/app.ts'],
  ['test/store/sqlite.test.ts', 'kysely'],
]

const ownedModules: readonly [module: string, stranger: string, owner: string][] = [
  ['kysely', 'src/oauth/token.ts', 'src/store/schema.ts'],
  ['pg', 'src/main.ts', 'src/store/engine/postgres/postgres.ts'],
  ['node:sqlite', 'src/cli/keys/keys.ts', 'src/store/engine/sqlite/sqlite.ts'],
  ['fastify', 'src/token/issuer.ts', 'src/web/session.ts'],
  ['fastify', 'src/main.ts', 'src/app.ts'],
  ['fastify', 'src/cli/serve.ts', 'src/app/http.ts'],
  ['@fastify/cookie', 'src/pages/login.ts', 'src/ops/metrics.ts'],
  ['@fastify/static', 'src/identity/source.ts', 'src/admin/users.ts'],
  ['node:crypto', 'src/oauth/token.ts', 'src/oauth/pkce.ts'],
  ['node:crypto', 'src/store/engine/sqlite/sqlite.ts', 'src/token/keys/keys.ts'],
  ['node:crypto', 'src/ops/health.ts', 'src/clients/secrets.ts'],
  ['crypto', 'src/web/session.ts', 'src/config-file.ts'],
  ['@node-rs/argon2', 'src/identity/sources/internal.ts', 'src/base/passwords.ts'],
  ['@node-rs/bcrypt', 'src/base/secrets.ts', 'src/base/passwords.ts'],
  ['undici', 'src/token/keys/keys.ts', 'src/base/outbound.ts'],
  ['prom-client', 'src/web/session.ts', 'src/ops/prometheus.ts'],
  ['@opentelemetry/api', 'src/app.ts', 'src/ops/tracing.ts'],
  ['node:https', 'src/identity/sources/oidc.ts', 'src/base/outbound.ts'],
  ['node:process', 'src/main.ts', 'src/config.ts'],
]

const ownedCode: readonly [code: string, owner: string | undefined][] = [
  ['await fetch(url)', 'src/base/outbound.ts'],
  ['return globalThis.fetch', 'src/base/outbound.ts'],
  ['const now = Date.now()', 'src/base/clock.ts'],
  ['const read = Date.now', 'src/base/clock.ts'],
  ['const now = new Date()', 'src/base/clock.ts'],
  ['const now = new Date', 'src/base/clock.ts'],
  ['const now = new Date(/* here */)', 'src/base/clock.ts'],
  ['const now = Date()', 'src/base/clock.ts'],
  ['const now = Temporal.Now.instant()', 'src/base/clock.ts'],
  ['const start = performance.now()', 'src/base/clock.ts'],
  ['const start = process.hrtime.bigint()', 'src/base/clock.ts'],
  ['const id = Math.random()', undefined],
  ['const id = crypto.randomUUID()', 'src/base/random.ts'],
  ['const id = randomBytes(16)', 'src/base/random.ts'],
  ['randomFillSync(buffer)', 'src/base/random.ts'],
  ['crypto.getRandomValues(buffer)', 'src/base/random.ts'],
  ["const port = process.env['PORT']", 'src/config.ts'],
  ["const port = process?.env?.['PORT']", 'src/config.ts'],
  ["const port = process['env']", 'src/config.ts'],
  ['const { argv, env } = process', 'src/config.ts'],
  ['const text = `port ${process.env.PORT}`', 'src/config.ts'],
  ['const key = scryptSync(password, salt, 32)', 'src/base/passwords.ts'],
  ["const key = name.normalize('NFKC')", 'src/base/text/normalized.ts'],
  ['const page = Html.fromTemplate(strings, [])', 'src/base/html.ts'],
  ['const load = createRequire(import.meta.url)', undefined],
]

const bannedCode: readonly [code: string, rule: string][] = [
  ['enum Grant { Password }', 'enum'],
  ['const enum Grant { Password }', 'enum'],
  ['export default 1', 'default export'],
  ['const x = 1\nexport { x as default } from "./x.ts"', 'default export'],
  ['let x: any', '`any`'],
  ['let x: any = 1', '`any`'],
  ['const x = y as any', '`any`'],
  ['const x = (y as any).z', '`any`'],
  ['let x: string | any', '`any`'],
  ['let x: Record<string, any>', '`any`'],
  ['let x: any[]', '`any`'],
  ['type X = any', '`any`'],
  ['const f = (x: any): void => y(x)', '`any`'],
  ['const f: () => any = y', '`any`'],
  ['const m = await import(`../store/store.ts`)', 'plain quotes'],
  ['const m = await import(name)', 'plain quotes'],
]

const undocumented = [
  'export const x = 1',
  'export let x = 1',
  'export function x(): void {}',
  'export async function x(): Promise<void> {}',
  'export function* x(): Iterable<number> {}',
  'export class X {}',
  'export abstract class X {}',
  'export interface X {}',
  'export type X = string',
  '// Not a doc comment.\nexport type X = string',
  '/* Not a doc comment. */\nexport type X = string',
  '/** */\nexport type X = string',
  '/** Too far away. */\n\nexport type X = string',
  '/** Too far away. */\n// in between\nexport type X = string',
  '/** Of y. */\nconst y = 1\nexport const x = y',
  'const x = 1\nexport { x }',
  'type X = 1\nexport type { X }',
]

const documented = [
  '/** Says what it is. */\nexport const x = 1',
  '/**\n * Says what it is,\n * in two lines.\n */\nexport function x(): void {}',
  '/** Routes below /static/* and /assets/*. */\nexport const x = 1',
  '/** Once. */\nexport function x(a: string): void\nexport function x(a: number): void\nexport function x(): void {}',
  '/** Says what it is. */\n// oxlint-disable-next-line some/rule -- why\nexport const x = 1',
  "export { x } from './x.ts'",
  "export type { X } from './x.ts'",
  "export * from './x.ts'",
  '// export const x = 1',
  "const x = 'export const y = 1'",
]

const nearMisses: readonly Case[] = [
  ...[
    "// import { x } from 'kysely'",
    "/* import { x } from '../oauth/token.ts' */",
    "/**\n * import { x } from 'pg'\n */",
    'const text = "import { x } from \'kysely\'"',
    'const text = `import { x } from "kysely"`',
    "const text = 'fetch(url) Date.now() new Date() Math.random() process.env performance.now()'",
    '// fetch(url), Date.now(), new Date(), Math.random(), process.env, randomUUID(), enum X, export default, : any',
    'const text = `fetch() ${name} new Date() ${`process.env ${name} Math.random()`} Date.now()`',
    "const text = 'it\\'s' // fetch('x')",
    "const pattern = /['\"`]/ // fetch('x')",
    'const pattern = /[/"]fetch\\(/',
    "const half = size / 2 // 'fetch(url)'",
    "const url = 'https://example.org/' // Date.now()",
    'await outbound.fetch(url)',
    'prefetch(url)',
    'const moment = new Date(seconds * 1000)',
    "const moment = new Date('2026-01-01')",
    'const moment = Date.UTC(2026, 0, 1)',
    'const moment = Date.parse(text)',
    'const moment = toDate()',
    'const moment: Date = clock.now()',
    'const id = random.uuid()',
    'const argv = process.argv',
    'const { argv } = process',
    'const env = readConfig()',
    "const schema = { type: 'string', enum: ['a'] }",
    'const schema = { any: true }',
    'const first = await Promise.any(list)',
    'const company: anything = many',
    "const from = 'kysely'",
    "const route = { from: 'kysely' }",
    "const list = Array.from('pg')",
    "const m = await import(\n  '../model/zone.ts'\n)",
  ].map(text => ({ name: `allows ${text}`, path: 'src/token/issuer.ts', text: `${text}\n` })),
  {
    name: 'allows a file of the maximum length',
    path: 'src/model/zone.ts',
    text: '\n'.repeat(MAX_FILE_LINES),
  },
  { name: 'allows a long test', path: 'test/zone.test.ts', text: '\n'.repeat(MAX_FILE_LINES * 2) },
  { name: 'allows a name that contains a forbidden word', path: 'src/model/user-types.ts', text: '' },
  { name: 'allows a test named after its file', path: 'test/base/private-key-jwt.test.ts', text: '' },
  { name: 'allows the clock in a test', path: 'test/base/clock.test.ts', text: 'const now = Date.now()\n' },
]

const cases: readonly Case[] = [
  ...forbiddenImports.map(([from, to]) => ({
    name: `forbids ${from} to import ${to}`,
    ...imports(from, to),
    found: 'must not import',
  })),
  ...allowedImports.map(([from, to]) => ({ name: `allows ${from} to import ${to}`, ...imports(from, to) })),
  ...[
    "import { x } from '../oauth/token.ts'",
    "import type { X } from '../oauth/token.ts'",
    "import {\n  type X,\n  y,\n} from '../oauth/token.ts'",
    "import * as x from '../oauth/token.ts'",
    'import x from "../oauth/token.ts"',
    "import '../oauth/token.ts'",
    "export { x } from '../oauth/token.ts'",
    "export type { X } from '../oauth/token.ts'",
    "export * from '../oauth/token.ts'",
    "const x = await import('../oauth/token.ts')",
    "const x = await import(\n  /* late */ '../oauth/token.ts'\n)",
    "let x: import('../oauth/token.ts').X",
    "const x = require('../oauth/token.ts')",
    "import { x } from /* hidden */ '../oauth/token.ts'",
    "import { x } from './../oauth/grants/../token.ts'",
    "const text = `${await import('../oauth/token.ts')}`",
    "const pattern = /'/\nimport { x } from '../oauth/token.ts'",
    "const text = 'a\\\\'\nimport { x } from '../oauth/token.ts'",
  ].map(text => ({
    name: `finds the import in ${text}`,
    path: 'src/token/issuer.ts',
    text,
    found: 'must not import src/oauth/token.ts',
  })),
  ...ownedModules.flatMap(([module, stranger, owner]) => [
    { name: `forbids ${stranger} to import ${module}`, ...imports(stranger, module), found: 'only' },
    { name: `allows ${owner} to import ${module}`, ...imports(owner, module) },
  ]),
  {
    name: 'counts a type import of fastify',
    path: 'src/pages/login.ts',
    text: "import type { FastifyReply } from 'fastify'\n",
    found: 'fastify is imported in',
  },
  ...ownedCode.flatMap(([code, owner]) => [
    {
      name: `forbids elsewhere: ${code}`,
      path: 'src/store/engine/sqlite/sqlite.ts',
      text: `${code}\n`,
      found: ' ',
    },
    ...(owner === undefined ? [] : [{ name: `allows ${owner} to have: ${code}`, path: owner, text: `${code}\n` }]),
  ]),
  ...bannedCode.map(([code, rule]) => ({
    name: `forbids everywhere: ${code}`,
    path: 'src/base/clock.ts',
    text: `${code}\n`,
    found: rule,
  })),
  ...undocumented.map(text => ({
    name: `requires a doc comment: ${text}`,
    path: 'src/model/zone.ts',
    text: `${text}\n`,
    found: 'doc comment',
  })),
  ...documented.map(text => ({
    name: `accepts the doc comment: ${text}`,
    path: 'src/model/zone.ts',
    text: `${text}\n`,
  })),
  ...['utils', 'helpers', 'common', 'misc', 'types', 'constants'].flatMap(word => [
    { name: `forbids a file named ${word}`, path: `src/model/${word}.ts`, text: '', found: 'names nothing' },
    { name: `forbids a folder named ${word}`, path: `src/oauth/${word}/token.ts`, text: '', found: 'names nothing' },
  ]),
  { name: 'forbids capitals in file names', path: 'src/model/identityProvider.ts', text: '', found: 'kebab case' },
  {
    name: 'forbids underscores in file names',
    path: 'test/model/identity_provider.test.ts',
    text: '',
    found: 'kebab case',
  },
  { name: 'forbids a folder outside the table', path: 'src/services/zone.ts', text: '', found: 'import table' },
  { name: 'forbids a file in src/ outside the table', path: 'src/server.ts', text: '', found: 'import table' },
  {
    name: 'limits the length of files',
    path: 'src/model/zone.ts',
    text: '\n'.repeat(MAX_FILE_LINES + 1),
    found: 'split the file',
  },
  ...nearMisses,
]

describe('violations', () => {
  for (const { name, path, text, found } of cases) {
    it(name.replaceAll('\n', ' ⏎ '), () => {
      const reported = violations([{ path, text }])
      if (found === undefined) {
        assert.deepEqual(reported, [])
        return
      }
      assert.equal(reported.length, 1, `one finding and no other: ${reported.join(' · ')}`)
      assert.ok(reported[0]?.startsWith(`${path}:`) && reported[0].includes(found), reported[0])
    })
  }

  it('reports the line of each finding, in order', () => {
    const text = "import { x } from '../../../oauth/token.ts'\n\n// a comment\nconst now = Date.now()\nlet y: any\n"
    const lines = violations([{ path: 'src/store/engine/sqlite/sqlite.ts', text }]).map(each => each.split(':')[1])
    assert.deepEqual(lines, ['1', '4', '5'])
  })
})
