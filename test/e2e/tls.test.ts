import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as plainRequest } from 'node:http'
import { Agent, request } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect } from 'node:tls'
import { certificateOf } from '../support/certificate.ts'
import { privatePem } from '../support/config.ts'
import { freePort } from '../support/free-port.ts'
import { launch } from '../support/process.ts'
import type { StartedProcess } from '../support/process.ts'

function identity(name: string): { readonly cert: string; readonly key: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { key, cert: certificateOf(key, { name, address: '127.0.0.1' }) }
}

const first = identity('first')
const second = identity('second')
const encrypted = createPrivateKey(first.key)
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' })
  .toString()

describe('A server with TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-tls-'))
  let server: StartedProcess
  let port: number
  const put = (name: 'cert.pem' | 'key.pem', text: string): void => writeFileSync(join(folder, name), text)
  const config = (tls: object, more: object = {}): string =>
    JSON.stringify({
      base_url: `https://127.0.0.1:${port}`,
      listen: { port, tls },
      database: 'sqlite::memory:',
      master_key: Buffer.alloc(32, 1).toString('base64'),
      ...more,
    })
  const files = { certificate_file: 'cert.pem', private_key_file: 'key.pem' }

  before(async () => {
    port = await freePort()
    put('cert.pem', first.cert)
    put('key.pem', first.key)
    server = launch(['serve', '--config', 'latchkey.json'], { folder, files: { 'latchkey.json': config(files) } })
    await server.printed(/listening on/)
  })
  after(async () => {
    server.signal('SIGTERM')
    assert.equal((await server.ended).status, 0)
    rmSync(folder, { recursive: true, force: true })
  })

  interface Answer {
    readonly status: number
    readonly text: string
    readonly subject: string
  }
  const get = (path: string, ca: string, agent?: Agent): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, ca, agent: agent ?? false }, response => {
        const { socket } = response
        const subject = 'getPeerCertificate' in socket ? String(Reflect.get(socket, 'servername')) : ''
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => (text += part))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, subject }))
      })
      sent.on('error', reject)
      sent.end()
    })

  it('serves https, with https in every URL', async () => {
    assert.deepEqual({ ...(await get('/healthz', first.cert)), subject: '' }, { status: 200, text: 'ok', subject: '' })
    const metadata = JSON.parse((await get('/.well-known/openid-configuration', first.cert)).text) as { issuer: string }
    assert.equal(metadata.issuer, `https://127.0.0.1:${port}`)
  })

  it('does not respond to plain HTTP', async () => {
    const failure = await new Promise<Error>((resolve, reject) => {
      const sent = plainRequest({ host: '127.0.0.1', port, path: '/healthz' }, () => reject(new Error('was answered')))
      sent.on('error', resolve)
      sent.end()
    })
    assert.match(failure.message, /socket hang up|ECONNRESET|Parse Error/)
  })

  it('closes a connection without a TLS handshake within ten seconds', async () => {
    const socket = connectPlain({ host: '127.0.0.1', port })
    const closed = once(socket, 'close', { signal: AbortSignal.timeout(14_000) })
    socket.resume() // else its end is not noticed
    await closed
  })

  it('rejects versions before 1.2, and ciphers without forward secrecy', async () => {
    const attempt = (options: object): Promise<string> =>
      new Promise(resolve => {
        const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }, () => {
          resolve(socket.getProtocol() ?? '')
          socket.destroy()
        })
        socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'))
      })
    assert.equal(await attempt({}), 'TLSv1.3')
    assert.equal(await attempt({ maxVersion: 'TLSv1.2' }), 'TLSv1.2')
    assert.match(await attempt({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }), /^E/)
    assert.match(await attempt({ maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' }), /^E/)
  })

  it('loads a new certificate at run time, and keeps the old one while the files do not match', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    assert.equal((await get('/healthz', first.cert, agent)).status, 200)
    put('cert.pem', second.cert) // the key is still the old one
    await until(() => /the old certificate stays in use: .*key\.pem/.test(server.stdout + server.stderr))
    assert.equal((await get('/healthz', first.cert)).status, 200)
    put('key.pem', second.key)
    await until(() => server.stdout.includes('the new certificate is in use'))
    assert.equal((await get('/healthz', second.cert)).status, 200)
    await assert.rejects(get('/healthz', first.cert), /certificate/)
    assert.equal((await get('/healthz', first.cert, agent)).status, 200, 'an open connection still works')
    agent.destroy()
  })

  const wrong: readonly (readonly [string, object, object, RegExp])[] = [
    [
      'a missing file',
      { ...files, certificate_file: 'none.pem' },
      {},
      /certificate_file: none\.pem cannot be read: no such file/,
    ],
    [
      'a key for another certificate',
      { ...files, private_key_file: 'other.pem' },
      {},
      /is not the key of the certificate/,
    ],
    [
      'a key of another type than the certificate',
      { ...files, private_key_file: 'rsa.pem' },
      {},
      /rsa\.pem is not the key of the certificate$/m,
    ],
    [
      'a key with a passphrase',
      { ...files, private_key_file: 'encrypted.pem' },
      {},
      /encrypted\.pem is encrypted: it must have no passphrase/,
    ],
    ['an invalid key', { ...files, private_key_file: 'cert.pem' }, {}, /cert\.pem is not a private key in PEM/],
    ['an invalid certificate', { ...files, certificate_file: 'latchkey.json' }, {}, /is not a certificate in PEM/],
    ['a base URL without https', files, { base_url: 'http://127.0.0.1:1' }, /base_url: must begin with https:/],
    ['no key', { certificate_file: 'cert.pem' }, {}, /private_key_file/],
  ]
  for (const [name, tls, more, about] of wrong) {
    it(`does not start with ${name}`, async () => {
      const other = launch(['serve', '--config', 'wrong.json'], {
        files: {
          'wrong.json': config(tls, more),
          'latchkey.json': '{}',
          'cert.pem': first.cert,
          'key.pem': first.key,
          'other.pem': second.key,
          'rsa.pem': privatePem('rsa', 2048),
          'encrypted.pem': encrypted,
        },
      })
      const ending = await other.ended
      assert.equal(ending.status, 2, ending.stdout)
      assert.match(ending.stderr, about)
    })
  }
})

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!condition()) {
    assert.ok(Date.now() < deadline, 'timed out')
    await pause(50)
  }
}
