// The units of systemd against the package and the server. docs/deploy.md says what they were tried with.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { loadConfig } from '../../src/config.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const PACKAGE = '/opt/latchkey/node_modules/latchkey/'

/** All values of each directive, in their order. */
function unit(name: string): (directive: string) => readonly string[] {
  const lines = read(`packaging/${name}`).split('\n')
  return directive =>
    lines.filter(line => line.startsWith(`${directive}=`)).map(line => line.slice(directive.length + 1))
}

const server = unit('latchkey.service')
const backup = unit('latchkey-backup.service')

describe('packaging/latchkey.service', () => {
  it('starts the installed package like its launcher', () => {
    const [, list = ''] = /FLAGS = \[(.+)\]/.exec(read('bin/latchkey.cjs')) ?? []
    const flags = list.replaceAll(/[',]/g, '')
    assert.deepEqual(server('ExecStart'), [
      `/opt/latchkey/node_modules/.bin/node ${flags} ${PACKAGE}bin/latchkey.cjs serve`,
    ])
  })

  it('refers to files of the package', () => {
    const packed: readonly string[] = JSON.parse(read('package.json')).files
    const named = [...server('ExecStart'), ...server('Documentation'), ...backup('ExecStart')]
      .flatMap(text => text.split(/file:\/\/|\s/))
      .filter(word => word.startsWith(PACKAGE))
      .map(word => word.slice(PACKAGE.length))
    assert.deepEqual([...new Set(named)].toSorted(), ['bin/latchkey.cjs', 'docs/operate.md'])
    for (const path of named) assert.ok(existsSync(join(ROOT, path)), path)
    assert.ok(packed.includes('bin/*.cjs') && packed.includes('docs/*.*'))
  })

  it('sets variables that the server and Node.js read', () => {
    const names = server('Environment').flatMap(line => [...line.matchAll(/(\w+)=/g)].map(([, name = '']) => name))
    assert.deepEqual(names.slice(0, 2), ['LATCHKEY_CONFIG', 'NODE_COMPILE_CACHE'])
    for (const name of names.slice(2)) assert.match(read('bin/latchkey'), new RegExp(`^export .*\\b${name}=`, 'm'))
    assert.ok(read('src/config.ts').includes("'LATCHKEY_CONFIG'"))
    assert.ok(read('bin/latchkey.cjs').includes('NODE_COMPILE_CACHE'))
  })

  it('has the default database in its state folder', async () => {
    const { database } = await loadConfig({ env: {} })
    assert.match(database, /^sqlite:\.\//)
    assert.deepEqual(server('WorkingDirectory'), ['%S/latchkey'])
    assert.deepEqual(server('StateDirectory'), ['latchkey'])
  })

  it('allows time for running requests, and does not restart with an invalid configuration', () => {
    const [, drainMilliseconds = ''] = /DRAIN_MS = ([\d_]+)/.exec(read('src/main.ts')) ?? []
    assert.ok(Number(server('TimeoutStopSec')[0]) > (2 * Number(drainMilliseconds.replace('_', ''))) / 1000)
    assert.deepEqual(server('RestartPreventExitStatus'), ['2'])
    assert.match(read('docs/operate.md'), /^\| 2 \| the command line or the configuration is wrong/m)
  })

  it('has an unprivileged account', () => {
    for (const [directive, want] of Object.entries({
      DynamicUser: 'yes',
      NoNewPrivileges: 'yes',
      ProtectSystem: 'strict',
      CapabilityBoundingSet: '',
      PrivateDevices: 'yes',
      RestrictNamespaces: 'yes',
      LimitCORE: '0',
    })) {
      assert.deepEqual(server(directive), [want], directive)
    }
    assert.deepEqual(server('LoadCredential'), ['master_key:/etc/latchkey/master_key'])
  })
})

describe('packaging/latchkey-backup.service', () => {
  it('runs as the server’s account, with its folder and without its key', () => {
    for (const directive of ['DynamicUser', 'User', 'StateDirectory', 'WorkingDirectory', 'UMask', 'LimitCORE']) {
      assert.deepEqual(backup(directive), server(directive), directive)
    }
    assert.deepEqual(backup('LoadCredential'), [])
  })
})
