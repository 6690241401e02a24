import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { parseJson } from '../../../src/base/json.ts'
import { readConfigFile } from '../../../src/config/file.ts'
import { createProblems } from '../../../src/config/problems.ts'
import { anyText, changed, jumble, oddJson } from '../changes.ts'
import { target } from '../target.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-fuzz-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'config.yaml')

const YAML = `base_url: https://id.example
listen: { host: 127.0.0.1, port: 8080, trusted_proxies: [10.0.0.0/8] }
database: \${DATABASE:-sqlite:./data/db}
log:
  level: info
bootstrap:
  clients:
    - &app { client_id: app, client_secret: s, authorized_grant_types: [client_credentials] }
    - *app
  users: []
`
const JSON_CONFIG = {
  base_url: 'https://id.example',
  listen: { port: 8080 },
  workers: 2,
  bootstrap: { clients: [{ client_id: 'app' }] },
}
const PIECES = [
  '\n',
  '\n  ',
  '\n- ',
  ': ',
  '- ',
  '&a ',
  '*a',
  '*app',
  '<<: *app',
  '!!js/function x',
  '!!binary x',
  '!<x>',
  '{',
  '}',
  '[',
  ']',
  '|',
  '>',
  "'",
  '"',
  '? ',
  '---\n',
  '...\n',
  '%YAML 1.1\n',
  '${X}',
  '${X:-1}',
  '$${',
  '#',
  '\t',
  '.inf',
  '0o7',
  '1_000',
  '2001-01-01',
  '[['.repeat(200),
]
const MEMBERS = ['bootstrap', 'listen', 'workers', 'password_file', 'database', 'signing_keys']

/** The configuration file: a list of problems, or what JSON says where it is JSON; nothing that hangs, and no prototype changed. */
export const configFile = target({
  name: 'config-file',
  inputs: fc.oneof(
    { weight: 3, arbitrary: changed(fc.constant(YAML), PIECES) },
    { weight: 2, arbitrary: oddJson(fc.constant(JSON_CONFIG), MEMBERS) },
    { weight: 2, arbitrary: jumble(PIECES) },
    { weight: 1, arbitrary: anyText },
  ),
  async check(text) {
    writeFileSync(file, text)
    const problems = createProblems()
    const config = await readConfigFile(file, { X: 'x' }, { problems })
    assert.ok(!('polluted' in {}))
    for (const { key, message } of problems.list)
      assert.ok(key !== '' && message !== '' && !message.includes('\n    at '))
    const json = parseJson(text)
    const isRead = problems.list.every(({ key }) => key !== file)
    if (json !== undefined && isRead && !/\$|_file/.test(text)) assert.deepEqual(config, json ?? {})
    return problems.list.length === 0 ? 'read' : 'refused'
  },
})
