import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { readSmallFile } from '../../../src/base/files/small-file.ts'

describe('readSmallFile', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-small-'))
  after(() => rmSync(folder, { recursive: true }))
  const path = (name: string): string => join(folder, name)

  it('reads up to its limit, also through a symbolic link', () => {
    writeFileSync(path('text'), 'größe')
    symlinkSync('text', path('link'))
    assert.equal(readSmallFile(path('link'), 7), 'größe')
    assert.throws(() => readSmallFile(path('link'), 6), /more than 6 bytes/)
    writeFileSync(path('empty'), '')
    assert.equal(readSmallFile(path('empty'), 6), '')
  })

  it('rejects folders, devices and pipes', () => {
    execFileSync('mkfifo', [path('pipe')])
    symlinkSync('/dev/zero', path('device'))
    for (const name of ['pipe', 'device', '.']) {
      assert.throws(() => readSmallFile(path(name), 6), /not a regular file/)
    }
    assert.throws(() => readSmallFile(path('missing'), 6), { code: 'ENOENT' })
  })
})
