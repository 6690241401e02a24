import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { programName } from '../../src/cli/program-name.ts'
import { npmScript } from '../../src/config.ts'

const root = join(import.meta.dirname, '..', '..')

describe('The program name in messages', { skip: process.platform === 'win32' && 'paths differ' }, () => {
  const cases = [
    { name: 'is the npm command after npm start', cwd: root, script: 'start', want: 'npm run -s latchkey --' },
    {
      name: 'is the npm command after npm run latchkey',
      cwd: root,
      script: 'latchkey',
      want: 'npm run -s latchkey --',
    },
    { name: 'is a path in the checkout', cwd: root, script: undefined, want: 'bin/latchkey' },
    { name: 'is a path inside the checkout', cwd: join(root, 'docs'), script: 'test', want: '../bin/latchkey' },
    { name: 'is a path relative to the launcher', cwd: join(root, 'bin'), script: undefined, want: './latchkey' },
    { name: 'is an absolute path elsewhere', cwd: '/a/b/c', script: undefined, want: join(root, 'bin', 'latchkey') },
  ]
  for (const { name, cwd, script, want } of cases) {
    it(name, () => assert.equal(programName(cwd, script), want))
  }

  it('is the command name in an installed package', () => {
    assert.equal(programName('/a', undefined, '/a/node_modules/latchkey/bin'), 'latchkey')
  })

  it('ignores scripts of other npm projects', () => {
    assert.equal(npmScript({ npm_package_name: 'latchkey', npm_lifecycle_event: 'start' }), 'start')
    assert.equal(npmScript({ npm_package_name: 'shop', npm_lifecycle_event: 'start' }), undefined)
  })
})
