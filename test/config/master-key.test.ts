import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'
import { loadConfig, masterKeyFor } from '../../src/config.ts'
import { temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()

describe('the master key', () => {
  const random = createRandom()
  const bytes = Buffer.alloc(32, 0xfb)
  const forms = [
    { name: 'hexadecimal', text: bytes.toString('hex') },
    { name: 'base64', text: bytes.toString('base64') },
    { name: 'base64url', text: bytes.toString('base64url') },
  ]
  for (const { name, text } of forms) {
    it(`may be written in ${name}`, async () => {
      const config = await loadConfig({ env: { LATCHKEY_MASTER_KEY: text }, cwd: folder })
      assert.deepEqual(config.masterKey, bytes)
      assert.deepEqual(await masterKeyFor(config, random), bytes)
    })
  }

  it('is made beside the database at first start, for its owner only, and stays', async () => {
    const database = `sqlite:${join(folder, 'fresh', 'latchkey.db')}`
    const first = await masterKeyFor({ database }, random)
    const path = join(folder, 'fresh', 'latchkey.key')
    assert.equal(first.length, 32)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal(readFileSync(path, 'utf8'), `${first.toString('hex')}\n`)
    assert.deepEqual(await masterKeyFor({ database }, random), first)
  })

  it('is the same for processes that start at once', async () => {
    const database = `sqlite:${join(folder, 'race', 'latchkey.db')}`
    const program = `
      import { createRandom } from ${JSON.stringify(new URL('../../src/base/random.ts', import.meta.url).href)}
      import { masterKeyFor } from ${JSON.stringify(new URL('../../src/config/master-key.ts', import.meta.url).href)}
      process.stdout.write((await masterKeyFor({ database: process.argv[1] }, createRandom())).toString('hex'))`
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

  it('is not taken from a file that holds something else', async () => {
    writeFileSync(join(folder, 'latchkey.key'), 'short')
    await assert.rejects(masterKeyFor({ database: `sqlite:${folder}/latchkey.db` }, random), /holds no master key/)
    assert.equal(readFileSync(join(folder, 'latchkey.key'), 'utf8'), 'short')
  })

  it('is made up for a database in memory', async () => {
    const database = 'sqlite::memory:'
    const [one, two] = [await masterKeyFor({ database }, random), await masterKeyFor({ database }, random)]
    assert.equal(one.length, 32)
    assert.notDeepEqual(one, two)
  })
})
