import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { certificateOf } from '../support/certificate.ts'
import { privatePem, temporaryFolder } from '../support/config.ts'
import { freePort } from '../support/free-port.ts'
import type { Ending } from '../support/process.ts'
import { launch, runToEnd } from '../support/process.ts'

/** Its output for a server configured on the port, below `/idp`. */
const health = (port: number, args: readonly string[] = [], settings = {}): Promise<Ending> => {
  const config = { base_url: `http://localhost:${port}/idp`, ...settings }
  return runToEnd(['health', '--config', 'latchkey.json', '--port', String(port), ...args], {
    files: { 'latchkey.json': JSON.stringify(config) },
  })
}

describe('latchkey health', { concurrency: true }, () => {
  const folder = temporaryFolder()
  let port: number
  let settings: Readonly<Record<string, unknown>>
  let server: ReturnType<typeof launch>
  // Another server, which answers at one address and breaks the connection at the others.
  const stranger = createServer((request, response) => {
    if (request.url !== '/idp/readyz') request.socket.destroy()
    else response.writeHead(503).end('Database Connection failed.')
  })
  before(async () => {
    const key = privatePem('ec', 'P-256')
    writeFileSync(join(folder, 'key.pem'), key)
    writeFileSync(join(folder, 'crt.pem'), certificateOf(key, { name: 'id.example.org' }))
    port = await freePort()
    const tls = { certificate_file: join(folder, 'crt.pem'), private_key_file: join(folder, 'key.pem') }
    settings = {
      base_url: 'https://id.example.org/idp',
      database: 'sqlite::memory:',
      // On all addresses, as in a container, where loopback responds.
      listen: { host: '0.0.0.0', tls },
      smtp: { host: 'localhost' },
    }
    server = launch(['serve', '--config', 'latchkey.json', '--port', String(port)], {
      folder,
      files: { 'latchkey.json': JSON.stringify(settings) },
    })
    await server.printed(/Latchkey (?:\S+ )?is ready/)
    stranger.listen(0, '127.0.0.1')
    await once(stranger, 'listening')
  })
  after(async () => {
    server.signal('SIGTERM')
    await server.ended
    stranger.close()
  })
  const portOfStranger = (): number => Object(stranger.address()).port

  for (const args of [[], ['--ready']]) {
    it(`prints ok for a healthy server, with its path and certificate (${args.join('') || 'alive'})`, async () => {
      const { status, stdout } = await health(port, args, settings)
      assert.deepEqual({ status, stdout }, { status: 0, stdout: 'ok\n' })
    })
  }

  it('prints what the server is missing', async () => {
    const { status, stdout, stderr } = await health(portOfStranger(), ['--ready'])
    assert.deepEqual({ status, stdout }, { status: 1, stdout: '' })
    assert.equal(stderr, 'latchkey: the server responded with status 503: Database Connection failed.\n')
  })

  it('reports a broken connection', async () => {
    const { status, stderr } = await health(portOfStranger())
    assert.equal(status, 1)
    assert.match(stderr, /^latchkey: no response from 127\.0\.0\.1 port \d+: socket hang up\n$/)
  })

  it('reports a refused connection', async () => {
    const { status, stderr } = await health(await freePort())
    assert.equal(status, 1)
    assert.match(stderr, /^latchkey: no response from 127\.0\.0\.1 port \d+: connect ECONNREFUSED/)
  })

  it('rejects an unknown option', async () => {
    assert.equal((await health(1, ['--live'])).status, 2)
  })
})
