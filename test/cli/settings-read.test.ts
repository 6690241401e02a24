import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { loadConfig, masterKeysFor } from '../../src/config.ts'
import { createRandom } from '../../src/base/random.ts'
import type { CommandRunner } from '../support/commands.ts'
import { commandRunner } from '../support/commands.ts'
import { problemsOf, temporaryFolder } from '../support/config.ts'
import { serve } from '../support/process.ts'

/** Settings that commands beside the server do not use, each with a problem. */
const unused = `
workers: many
smtp: { host: mail.example, password_file: ./none }
passwords: { cost: 999 }
bootstrap: { clients: [{ client_id: a, client_secret: '\${NOT_SET}' }] }
`

describe('The settings read by a command', () => {
  const folder = temporaryFolder()
  let commands: CommandRunner

  before(async () => {
    const server = await serve({ folder, config: { database: 'sqlite:./data/latchkey.db', audit: { enabled: true } } })
    await server.stop()
    writeFileSync(
      join(folder, 'broken.yml'),
      `database: sqlite:./data/latchkey.db\naudit: { enabled: true }\n${unused}`,
    )
    writeFileSync(join(folder, 'mistyped.yml'), `databse: sqlite:./data/latchkey.db\n${unused}`)
    commands = commandRunner(folder)
  })
  after(() => commands.end())

  for (const args of [
    ['backup', '--to', 'copy.db'],
    ['restore', '--from', 'copy.db'],
    ['keys', 'list'],
    ['keys', 'add', '--key-id', 'next'],
    ['master-key', 'check'],
    ['migrate', '--plan'],
    ['migrate'],
    ['audit', 'verify'],
  ]) {
    it(`are enough for ${args.slice(0, 2).join(' ')} if others are invalid or have undefined variables`, async () => {
      const { status, stderr } = await commands.run([...args, '--config', 'broken.yml'])
      assert.equal(stderr, '')
      assert.equal(status, 0)
    })
  }

  it('are enough for health if others are invalid', async () => {
    const { status, stderr } = await commands.run(['health', '--port', '1', '--config', 'broken.yml'])
    assert.match(stderr, /^latchkey: no response from 127\.0\.0\.1 port 1/)
    assert.equal(status, 1)
  })

  it('must have known keys', async () => {
    const { status, stderr } = await commands.run(['backup', '--to', 'other.db', '--config', 'mistyped.yml'])
    assert.match(stderr, /databse: is not a known key; did you mean database\?/)
    assert.doesNotMatch(stderr, /NOT_SET|workers|smtp/)
    assert.equal(status, 2)
  })

  it('are reported if invalid', async () => {
    writeFileSync(join(folder, 'unset.yml'), `database: 'sqlite:\${NO_DATA}/x.db'\nmaster_key_file: none\n${unused}`)
    const { status, stderr } = await commands.run(['keys', 'list', '--config', 'unset.yml'])
    assert.match(stderr, /database: the environment variable NO_DATA is not set/)
    assert.match(stderr, /master_key_file: none cannot be read/)
    assert.doesNotMatch(stderr, /NOT_SET|workers|smtp/)
    assert.equal(status, 2)
    const backup = await commands.run(['backup', '--to', 'x', '--config', 'unset.yml'])
    assert.doesNotMatch(backup.stderr, /master_key/)
  })

  it('are all of them for serve and check-config', async () => {
    const { status, stderr } = await commands.run(['check-config', '--config', 'broken.yml'])
    assert.match(stderr, /workers[^]*NOT_SET|NOT_SET[^]*workers/)
    assert.equal(status, 2)
  })

  it('have no secrets that the master key command could read', async () => {
    const hex = 'ab'.repeat(32)
    const text = `master_key_command: [sh, -c, 'test -z "$MAIL" && echo $KEY']\nsmtp: { password: '\${MAIL}' }\n`
    writeFileSync(join(folder, 'command.yml'), text)
    const env = { PATH: process.env['PATH'] ?? '', KEY: hex, MAIL: 'hush' }
    const keys = ['master_key_command']
    const config = await loadConfig({ options: { config: 'command.yml' }, env, cwd: folder, keys })
    assert.equal((await masterKeysFor(config, createRandom()))[0]?.toString('hex'), hex)
    assert.match(
      (await problemsOf(loadConfig({ options: { config: 'command.yml' }, env, cwd: folder }))).join(),
      /smtp/,
    )
  })
})
