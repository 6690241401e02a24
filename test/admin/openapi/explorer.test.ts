import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { EXPLORER_FILE, EXPLORER_SHA256, explorerUrl } from '../../../src/admin/openapi/explorer.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex')

describe('API explorer script', () => {
  let server: TestServer
  let base: string
  before(async () => {
    server = await startServer()
    base = await server.app.http.listen({ port: 0, host: '127.0.0.1' })
  })
  after(async () => {
    assert.deepEqual(server.faults, [])
    await server.stop()
  })
  const read = (headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
    fetch(base + explorerUrl(''), { method, headers: { 'accept-encoding': 'identity', ...headers } })

  it('matches the recorded hash', () => {
    const file = readFileSync(EXPLORER_FILE)
    assert.equal(sha256(gunzipSync(file)), EXPLORER_SHA256, 'run node scripts/explorer.ts')
    assert.ok(file.length < 220_000)
  })

  for (const { encodings, want } of [
    { encodings: 'gzip, deflate, br', want: 'gzip' },
    { encodings: 'br;q=1, GZIP;q=0.5', want: 'gzip' },
    { encodings: 'br, gzip;q=0', want: null },
    { encodings: 'gzip;q=0.000', want: null },
    { encodings: 'identity', want: null },
    { encodings: 'x-gzip-not', want: null },
  ]) {
    it(`is served with content encoding ${String(want)} for ${encodings}, and cacheable`, async () => {
      const answer = await read({ 'accept-encoding': encodings })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('content-encoding'), want)
      assert.equal(answer.headers.get('content-type'), 'text/javascript; charset=utf-8')
      assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable')
      assert.match(String(answer.headers.get('vary')), /Accept-Encoding/)
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
      assert.equal(sha256(Buffer.from(await answer.arrayBuffer())), EXPLORER_SHA256)
    })
  }

  it('answers 304 to a matching If-None-Match', async () => {
    const etag = (await read({}, 'HEAD')).headers.get('etag') ?? ''
    assert.match(etag, /^"rapidoc-/)
    assert.equal((await read({ 'if-none-match': etag })).status, 304)
    const other = await read({ 'if-none-match': '"rapidoc-1"' })
    assert.equal(other.status, 200)
    // A cache asks with the tags of all that it has, and would give a compressed script to a browser that cannot read it.
    const compressed = await read({ 'if-none-match': etag, 'accept-encoding': 'gzip' })
    assert.equal(compressed.status, 200, 'another encoding is another representation (RFC 9110 §8.8.3.3)')
    await compressed.arrayBuffer()
    await other.body?.cancel() // unread, it would keep the connection and so the server open for more than a minute
  })

  /** How often this process has the file open. */
  const openFiles = (): number =>
    readdirSync('/proc/self/fd').filter(each => {
      const link = join('/proc/self/fd', each)
      return existsSync(link) && readlinkSync(link) === EXPLORER_FILE
    }).length

  const skip = !existsSync('/proc/self/fd') && 'only Linux lists the open files'
  for (const encoding of ['identity', 'gzip']) {
    it(`is closed when the browser goes away (${encoding})`, { skip }, async () => {
      const { hostname, port, host } = new URL(base)
      for (let round = 0; round < 5; round += 1) {
        await new Promise<void>(resolve => {
          const socket = connect(Number(port), hostname)
          socket.once('data', () => socket.destroy()).once('close', () => resolve())
          socket.write(`GET ${explorerUrl('')} HTTP/1.1\r\nHost: ${host}\r\nAccept-Encoding: ${encoding}\r\n\r\n`)
        })
      }
      for (let turn = 0; turn < 200 && openFiles() > 0; turn += 1) await pause(10)
      assert.equal(openFiles(), 0)
    })
  }

  it('is loaded only by /docs', async () => {
    for (const path of ['/login', '/error', '/nowhere']) {
      assert.doesNotMatch((await server.send(path)).text, /rapidoc|docs\.js/, path)
    }
  })
})
