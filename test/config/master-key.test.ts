import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'
import { loadConfig, masterKeysFor } from '../../src/config.ts'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()

describe('The master key', () => {
  const random = createRandom()
  const bytes = Buffer.alloc(32, 0xfb)
  const forms = [
    { name: 'hexadecimal', text: bytes.toString('hex') },
    { name: 'base64', text: bytes.toString('base64') },
    { name: 'base64url', text: bytes.toString('base64url') },
  ]
  for (const { name, text } of forms) {
    // Covers configuration file: master_key
    it(`may be encoded as ${name}`, async () => {
      const config = await loadConfig({ env: { LATCHKEY_MASTER_KEY: text }, cwd: folder })
      assert.deepEqual(await masterKeysFor(config, random), [bytes])
    })
  }

  it('is generated beside the database at first start, readable by its owner only, and reused', async () => {
    const database = `sqlite:${join(folder, 'fresh', 'latchkey.db')}`
    const [first = Buffer.alloc(0)] = await masterKeysFor({ database }, random)
    const path = join(folder, 'fresh', 'latchkey.key')
    assert.equal(first.length, 32)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal(readFileSync(path, 'utf8'), `${first.toString('hex')}\n`)
    assert.deepEqual(await masterKeysFor({ database }, random), [first])
  })

  it('is the same for processes that start simultaneously', async () => {
    const database = `sqlite:${join(folder, 'race', 'latchkey.db')}`
    const program = `
      import { createRandom } from ${JSON.stringify(new URL('../../src/base/random.ts', import.meta.url).href)}
      import { masterKeysFor } from ${JSON.stringify(new URL('../../src/config/keys/master-key.ts', import.meta.url).href)}
      process.stdout.write((await masterKeysFor({ database: process.argv[1] }, createRandom()))[0].toString('hex'))`
    const start = (): Promise<string> =>
      new Promise((resolve, reject) => {
        execFile(process.execPath, ['--input-type=module', '-e', program, database], (error, stdout) => {
          if (error === null) resolve(stdout)
          else reject(error)
        })
      })
    const keys = await Promise.all([start(), start(), start()])
    assert.equal(new Set(keys).size, 1)
    assert.equal(keys[0]?.length, 64)
    assert.deepEqual(readdirSync(join(folder, 'race')), ['latchkey.key']) // nothing half made is left
  })

  it('is not replaced if its file has other content', async () => {
    writeFileSync(join(folder, 'latchkey.key'), 'short')
    await assert.rejects(masterKeysFor({ database: `sqlite:${folder}/latchkey.db` }, random), /must be 32 bytes/)
    assert.equal(readFileSync(join(folder, 'latchkey.key'), 'utf8'), 'short')
  })

  it('may be followed by earlier keys, separated by lines or spaces', async () => {
    const other = Buffer.alloc(32, 1)
    writeFileSync(join(folder, 'two'), `${bytes.toString('hex')}\n${other.toString('base64')}\n`)
    const config = await loadText(folder, 'master_key_file: two')
    assert.deepEqual(await masterKeysFor(config, random), [bytes, other])
    const env = { LATCHKEY_MASTER_KEY: `${other.toString('hex')} ${bytes.toString('hex')}` }
    assert.deepEqual(await masterKeysFor(await loadConfig({ env, cwd: folder }), random), [other, bytes])
  })

  const hex = bytes.toString('hex')
  const refused = [
    { name: 'a repeated key', text: `master_key: ${hex} ${hex}`, want: ['master_key: has a key twice'] },
    {
      name: 'too many keys',
      text: `master_key: ${Array.from({ length: 11 }, (_, index) => Buffer.alloc(32, index).toString('hex')).join(' ')}`,
      want: ['master_key: has more than 10 keys'],
    },
    {
      name: 'more words than keys allowed',
      text: `master_key: ${'word '.repeat(20)}`,
      want: ['master_key: each key must be 32 bytes as 64 hexadecimal characters or as base64'],
    },
    {
      name: 'other text after a key',
      text: `master_key: ${hex} # mine`,
      quoted: true,
      want: ['master_key: each key must be 32 bytes as 64 hexadecimal characters or as base64'],
    },
    {
      name: 'both a key and a file',
      text: `master_key: ${hex}\nmaster_key_file: two`,
      want: ['master_key_file: cannot be given together with master_key'],
    },
    {
      name: 'both a command and a key',
      text: `master_key: ${hex}\nmaster_key_command: [cat, two]`,
      want: ['master_key_command: cannot be given together with master_key'],
    },
    {
      name: 'both a command and a file',
      text: 'master_key_file: two\nmaster_key_command: [cat, two]',
      want: ['master_key_command: cannot be given together with master_key_file'],
    },
    {
      name: 'both a command and an environment variable',
      text: 'master_key_command: [cat, two]',
      env: { LATCHKEY_MASTER_KEY: hex },
      want: ['master_key_command: cannot be given together with LATCHKEY_MASTER_KEY'],
    },
    {
      name: 'a shell command line',
      text: 'master_key_command: cat two',
      want: ['master_key_command: must be a list'],
    },
    {
      name: 'a command with an unknown program',
      text: 'master_key_command: [./gone]',
      want: ['master_key_command: ./gone does not exist'],
    },
    {
      name: 'a command that is not in the PATH',
      text: 'master_key_command: [gone]',
      env: { PATH: `${folder}:/nowhere` },
      want: ['master_key_command: gone is in no folder of the PATH'],
    },
    {
      name: 'a command that is not executable',
      text: 'master_key_command: [./two]',
      want: ['master_key_command: ./two cannot be executed'],
    },
    {
      name: 'a command in the PATH that is not executable',
      text: 'master_key_command: [two]',
      env: { PATH: `${folder}:/nowhere` },
      want: ['master_key_command: two cannot be executed'],
    },
    {
      name: 'a command that is a folder',
      text: 'master_key_command: [.//]',
      want: ['master_key_command: .// cannot be executed'],
    },
    {
      name: 'a command without a program',
      text: 'master_key_command: []',
      want: ['master_key_command: must have at least 1 entries'],
    },
  ]
  for (const { name, text, env, quoted, want } of refused) {
    it(`is rejected: ${name}`, async () => {
      const file = quoted ? text.replace(/: (.*)/, ': "$1"') : text
      assert.deepEqual(await problemsOf(loadText(folder, file, { env: env ?? {} })), want)
    })
  }

  const outcomes = [
    { name: 'a nonzero exit status', command: ['false'], want: 'false ended with status 1' },
    { name: 'endless output', command: ['yes', hex], want: 'yes printed more than 4096 bytes' },
    { name: 'a signal', command: ['sh', '-c', `echo ${hex} >&2; kill -9 $$`], want: 'sh was ended by SIGKILL' },
  ]
  for (const { name, command, want } of outcomes) {
    it(`is rejected from a command with ${name}, without secrets in the message`, async () => {
      const config = await loadText(folder, `master_key_command: ${JSON.stringify(command)}`)
      await assert.rejects(masterKeysFor(config, random), { message: `master_key_command: ${want}` })
    })
  }

  const vanished = [
    { name: 'was deleted', mode: undefined, want: './program does not exist' },
    { name: 'is no longer executable', mode: 0o600, want: './program cannot be executed' },
  ]
  for (const { name, mode, want } of vanished) {
    it(`is rejected from a command whose program ${name}`, async () => {
      const path = join(folder, 'program')
      writeFileSync(path, '#!/bin/sh\n')
      chmodSync(path, 0o700)
      const config = await loadText(folder, 'master_key_command: [./program]')
      if (mode === undefined) rmSync(path)
      else chmodSync(path, mode)
      await assert.rejects(masterKeysFor(config, random), { message: `master_key_command: ${want}` })
    })
  }

  // Covers configuration file: master_key_command
  it('is read from a command, run in the configuration’s folder without a shell', async () => {
    const config = await loadText(folder, `master_key_command: [echo, '${hex}']`)
    assert.deepEqual(await masterKeysFor(config, random), [bytes])
    writeFileSync(join(folder, '$(echo two)'), hex)
    const literal = await loadText(folder, "master_key_command: [cat, '$(echo two)']")
    assert.deepEqual(await masterKeysFor(literal, random), [bytes])
  })

  it('is read from a command without access to the server’s secrets', async () => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      KEY: hex,
      DB_PASSWORD: 'secret one',
      MAIL: 'secret two',
      SHARED: 'secret three',
      IN_TEXT: 'secret six',
      PGPASSWORD: 'secret four',
      LATCHKEY_DATABASE: 'postgres://u:secret-five@db.example/x',
    }
    const file = `
master_key_command: [sh, -c, 'env > seen; echo $KEY']
database: postgres://u:\${DB_PASSWORD}@db.example/x
smtp: { host: mail.example, from: id@example.org, secure: true, user: u, password: '\${MAIL}' }
bootstrap:
  groups: [{ displayName: '\${KEY}' }]
  identity_providers: [{ type: oidc1.0, originKey: a, name: A, config: {
    issuer: 'https://a.example', relyingPartyId: b, tokenKey: '\${SHARED}' } },
    { type: oidc1.0, originKey: b, name: B, config: '{"relyingPartySecret":"\${IN_TEXT}"}' }]`
    const config = await loadText(folder, file, { env })
    assert.equal((await masterKeysFor(config, random))[0]?.toString('hex'), hex)
    const seen = readFileSync(join(folder, 'seen'), 'utf8')
    assert.doesNotMatch(seen, /secret/)
    assert.match(seen, /^KEY=/m)
    assert.deepEqual(config.programEnv, { PATH: env.PATH, KEY: hex })
  })

  it('is read from a command with the variables in the database path', async () => {
    const env = { HOME: folder, PATH: process.env['PATH'] ?? '', KEY: hex }
    const file = `
master_key_command: [sh, -c, 'test -n "$HOME" && echo $KEY']
database: sqlite:\${HOME}/x.db`
    const config = await loadText(folder, file, { env })
    assert.equal((await masterKeysFor(config, random))[0]?.toString('hex'), hex)
    assert.deepEqual(config.programEnv, env)
  })

  it('is not generated if its configured file is missing', async () => {
    writeFileSync(join(folder, 'soon-gone'), hex)
    const config = await loadText(folder, 'master_key_file: soon-gone')
    rmSync(join(folder, 'soon-gone'))
    await assert.rejects(masterKeysFor(config, random), /there is no .*soon-gone/)
  })

  it('is rejected from a file that is too large or not regular', async () => {
    writeFileSync(join(folder, 'soon-another'), hex)
    const config = await loadText(folder, 'master_key_file: soon-another')
    writeFileSync(join(folder, 'soon-another'), `${hex}${'\n'.repeat(5000)}`)
    await assert.rejects(masterKeysFor(config, random), /soon-another cannot be read: it has more than 4096 bytes/)
    rmSync(join(folder, 'soon-another'))
    symlinkSync('/dev/null', join(folder, 'soon-another'))
    await assert.rejects(masterKeysFor(config, random), /soon-another cannot be read: it is not a regular file/)
  })

  it('is rejected if its file cannot be written', async () => {
    await assert.rejects(
      masterKeysFor({ database: 'sqlite:/proc/latchkey.db' }, random),
      /^MasterKeyUnavailable: the master key cannot be written to \/proc\/latchkey\.key: no such file$/,
    )
  })

  it('is random for an in-memory database', async () => {
    const database = 'sqlite::memory:'
    const [one, two] = [await masterKeysFor({ database }, random), await masterKeysFor({ database }, random)]
    assert.equal(one[0]?.length, 32)
    assert.notDeepEqual(one, two)
  })
})
