// What docs/deploy.md puts on three nodes and on the proxy before them: one has to find the other.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { loadConfig } from '../../src/config.ts'
import { certificateOf } from '../support/certificate.ts'
import { privatePem, temporaryFolder } from '../support/config.ts'

const read = (path: string): string => readFileSync(join(import.meta.dirname, '../../packaging', path), 'utf8')

/** The values of all groups of the pattern. */
const all = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, value = '']) => value)

describe('The cluster files', () => {
  const nginx = read('nginx.conf')
  const override = read('cluster.override.conf')
  const text = read('cluster.latchkey.yml')
  const credentials = all(read('latchkey.service') + override, /^LoadCredential=(\w+):/gm)

  it('pass exactly the secrets used by the configuration', () => {
    assert.deepEqual(all(text, /\$\{CREDENTIALS_DIRECTORY\}\/(\w+)/g).toSorted(), credentials.toSorted())
  })

  it('produce a configuration that is valid without warnings', async () => {
    const folder = temporaryFolder()
    const key = privatePem('ec', 'P-256')
    const secrets = {
      database_url: `postgres://latchkey:x@db.internal.example.org/latchkey?sslmode=verify-full&sslrootcert=${join(folder, 'node.crt')}`,
      master_key: '0'.repeat(64),
      node_key: key,
      shop_secret: 'the secret of the shop',
      admin_secret: 'the secret of the administrator',
    }
    mkdirSync(join(folder, 'credentials'))
    for (const [name, value] of Object.entries(secrets)) writeFileSync(join(folder, 'credentials', name), value)
    writeFileSync(join(folder, 'node.crt'), certificateOf(key))
    writeFileSync(join(folder, 'latchkey.yml'), text.replace('/etc/latchkey/node.crt', 'node.crt'))
    const [address = ''] = all(override, /NODE_ADDRESS=(\S+)/g)
    const env = { NODE_ADDRESS: address, CREDENTIALS_DIRECTORY: join(folder, 'credentials') }
    const { warnings, listen, operations } = await loadConfig({ options: { config: 'latchkey.yml' }, env, cwd: folder })
    assert.deepEqual(warnings, [])
    const [idleSeconds = ''] = all(nginx, /^ +keepalive_timeout (\d+)s;/gm)
    assert.ok(Number(idleSeconds) > 0)
    assert.ok(Number(idleSeconds) * 1000 < operations.stoppingMilliseconds, 'a stopping node closes no idle connection')
    const nodes = all(nginx, /^ +server ([\d.]+:\d+) max_fails=1 fail_timeout=5s;$/gm)
    assert.equal(nodes.length, 3)
    assert.deepEqual(all(nginx, /^ +server ([\d.]+:\d+) max_fails=0 backup;$/gm), nodes, 'used while all are skipped')
    assert.ok(nodes.includes(`${address}:${listen.port}`))
    assert.deepEqual([...new Set(nodes.map(node => node.split(':')[1]))], [String(listen.port)])
  })

  it('make the proxy verify nodes, forward caller and request id, and pass what the server accepts', () => {
    for (const line of [
      'proxy_ssl_verify on;',
      'proxy_set_header Host $host;',
      'proxy_set_header X-Forwarded-For $remote_addr;',
      'proxy_set_header X-Request-Id $request_id;',
    ]) {
      assert.ok(nginx.includes(line), line)
    }
    // The largest body of all routes.
    assert.match(read('../src/admin/groups/routes.ts'), /RECORD_LIMIT = 2 \* 1024 \* 1024/)
    assert.match(nginx, /client_max_body_size 2m;/)
    assert.doesNotMatch(nginx, /non_idempotent/)
  })
})
