import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { aboutBuild, readBuildFacts } from '../../src/ops/build.ts'

describe('Build facts', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'latchkey-build-'))
  })
  after(() => rmSync(folder, { recursive: true }))
  const facts = (files: Readonly<Record<string, string>>) => {
    for (const name of ['package.json', 'build.json']) rmSync(join(folder, name), { force: true })
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    return readBuildFacts(folder)
  }

  it('default to those of the package', () => {
    const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    const { version, name } = readBuildFacts()
    assert.deepEqual({ version, name }, { version: Reflect.get(Object(manifest), 'version'), name: 'latchkey' })
  })

  it('have commit and time from build.json', () => {
    const build = '{"commit_id":"abc1234","timestamp":"2026-01-15T12:00:00+0000"}'
    assert.deepEqual(facts({ 'package.json': '{"version":"1.2.3"}', 'build.json': build }), {
      version: '1.2.3',
      commitId: 'abc1234',
      timestamp: '2026-01-15T12:00:00+0000',
    })
  })

  for (const [name, build] of [
    ['no JSON', '{'],
    ['a list', '[]'],
    ['other types', '{"commit_id":1,"timestamp":null}'],
    ['empty texts', '{"commit_id":"","timestamp":""}'],
  ] as const) {
    it(`ignore a build.json with ${name}`, () => {
      assert.deepEqual(facts({ 'package.json': '{"version":"1.2.3"}', 'build.json': build }), { version: '1.2.3' })
    })
  }

  it('are logged in one line with the URL, omitting unknown ones', () => {
    const known = { version: '1.2.3', commitId: 'abc1234', timestamp: '2026-01-15T12:00:00+0000' }
    assert.equal(
      aboutBuild(known, ['Server', 'https://id.example']),
      'Version: 1.2.3, Commit: abc1234, Timestamp: 2026-01-15T12:00:00+0000, Server: https://id.example',
    )
    assert.equal(
      aboutBuild({ version: '1.2.3' }, ['UAA', 'https://id.example']),
      'Version: 1.2.3, UAA: https://id.example',
    )
  })

  it('are unknown without a package.json', () => assert.deepEqual(facts({}), { version: 'unknown' }))
})
