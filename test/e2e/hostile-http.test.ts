// Malformed bytes, sent directly to the socket of the real process. Whatever they are, the response is HTTP
// with a refusal and nothing about the inside, and the same process continues to serve everyone else.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { isHealthy, serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'

let server: ServerProcess
/** Connections with an incomplete request, opened before everything else. */
let slow: readonly { readonly name: string; readonly end: Promise<Exchange>; readonly seconds: number }[]
/** Such connections that the client side keeps open. */
let stubborn: readonly Promise<Socket>[]

before(async () => {
  server = await serve({ args: ['--database', 'sqlite::memory:'] })
  slow = [
    { name: 'nothing', end: exchange('', SLOW), seconds: 20 },
    { name: 'an incomplete header', end: exchange('GET / HTTP/1.1\r\nHost: localhost\r\nX-Slo', SLOW), seconds: 20 },
    {
      name: 'an incomplete body',
      end: exchange(`${POST}Content-Length: 100\r\n\r\ngrant_type=`, SLOW),
      seconds: 40,
    },
    {
      name: 'an incomplete chunk',
      end: exchange(`${POST}Transfer-Encoding: chunked\r\n\r\n20\r\ngrant_type=`, SLOW),
      seconds: 40,
    },
  ]
  stubborn = ['', 'GET / HTTP/1.1\r\nHost: localhost\r\nX-Slo', 'hello\r\n\r\n'].map(halfClosed)
})

/** A connection that the server has closed, and this side has not. */
async function halfClosed(bytes: string): Promise<Socket> {
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
  socket
    .resume()
    .on('error', () => {})
    .write(bytes)
  await once(socket, 'end')
  return socket
}

after(async () => {
  const { status, stderr, stdout } = await server.stop()
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
  assert.doesNotMatch(stdout, /"level":50/, 'a server fault was logged')
})

const SLOW = 50_000
const GET = 'Host: localhost\r\nConnection: close\r\n\r\n'
const POST = 'POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n'
const get = (target: string): string => `GET ${target} HTTP/1.1\r\n${GET}`
const post = (body: string): string => `${POST}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const chunked = (...chunks: readonly string[]): string => {
  const parts = [...chunks, ''].map(chunk => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  return `${POST}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${parts.join('')}`
}

/** The responses on one connection until it was closed. */
interface Exchange {
  readonly text: string
  readonly statuses: readonly number[]
  readonly milliseconds: number
  /** Whether the server closed it, rather than our timeout. */
  readonly isClosed: boolean
}

/** Sends the bytes and reads until the server closes the connection; latin1 keeps every byte as it is. */
async function exchange(bytes: string, patience = 10_000): Promise<Exchange> {
  const begin = performance.now()
  const socket = connect(server.port, '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').on('data', (part: string) => (text += part))
  socket.on('error', () => {}) // a reset is an end as well; what was received until then counts
  let isClosed = true
  const impatience = setTimeout(() => {
    isClosed = false
    socket.destroy()
  }, patience)
  const outcome = once(socket, 'close')
  socket.write(bytes, 'latin1')
  await outcome
  clearTimeout(impatience)
  const statuses = Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status))
  return { text, statuses, milliseconds: performance.now() - begin, isClosed }
}

function assertSilentAboutItself({ text }: Exchange): void {
  assert.doesNotMatch(text, /^\s+at |node_modules|node:|\.ts\b|\/src\/|Error:|sqlite/im)
}

const long = (length: number): string => 'a'.repeat(length)

describe('Malformed requests', { concurrency: 4 }, () => {
  const cases: readonly { readonly name: string; readonly bytes: string; readonly statuses: readonly number[] }[] = [
    { name: 'text', bytes: 'hello\r\n\r\n', statuses: [400] },
    { name: 'the start of a TLS handshake', bytes: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', statuses: [400] },
    { name: 'zeros', bytes: '\0'.repeat(200), statuses: [400] },
    { name: 'HTTP/2 without negotiation', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', statuses: [400] },
    { name: 'an unknown HTTP version', bytes: `GET / HTTP/9.9\r\n${GET}`, statuses: [400] },
    { name: 'an unknown method', bytes: `FETCH / HTTP/1.1\r\n${GET}`, statuses: [400] },
    { name: 'no Host', bytes: 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', statuses: [400] },
    {
      name: 'an invalid Host',
      bytes: 'GET /login HTTP/1.1\r\nHost: a b<>"\r\nConnection: close\r\n\r\n',
      statuses: [400],
    },
    { name: 'an empty Host', bytes: 'GET /login HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n', statuses: [400] },
    {
      name: 'a Host with credentials',
      bytes: 'GET /login HTTP/1.1\r\nHost: evil@localhost\r\nConnection: close\r\n\r\n',
      statuses: [400],
    },
    {
      name: 'a Host with a path',
      bytes: 'GET /login HTTP/1.1\r\nHost: localhost/evil\r\nConnection: close\r\n\r\n',
      statuses: [400],
    },
    { name: 'two Host headers', bytes: `GET /login HTTP/1.1\r\nHost: evil.example\r\n${GET}`, statuses: [400] },
    { name: 'the same Host twice', bytes: `GET /login HTTP/1.1\r\nhost: localhost\r\n${GET}`, statuses: [400] },
    {
      name: 'two Authorization headers',
      bytes: get('/userinfo').replace('Host', 'Authorization: Bearer a\r\nauthorization: Bearer b\r\nHost'),
      statuses: [400],
    },
    {
      name: 'two Host headers, to an unknown route',
      bytes: `GET /nothing HTTP/1.1\r\nHost: evil.example\r\n${GET}`,
      statuses: [400],
    },
    {
      name: 'two Host headers, to an API',
      bytes: post('grant_type=client_credentials').replace('Content-Type', 'Host: evil.example\r\nContent-Type'),
      statuses: [400],
    },
    {
      name: 'two hosts in one header',
      bytes: 'GET /login HTTP/1.1\r\nHost: localhost, evil.example\r\nConnection: close\r\n\r\n',
      statuses: [400],
    },
    { name: 'a URL of another host', bytes: get('http://evil.example/login'), statuses: [400] },
    { name: 'a URL of another host, in a zone', bytes: get('http://evil.example/z/default/login'), statuses: [400] },
    { name: 'a URL of the same host, in a zone', bytes: get('http://localhost/z/default/login'), statuses: [200] },
    { name: 'a URL of another host, with credentials', bytes: get('http://localhost@evil.example/'), statuses: [400] },
    { name: 'a fragment', bytes: get('/login#a'), statuses: [400] },
    { name: 'a fragment before a query', bytes: get('/login#a=b?c=d'), statuses: [400] },
    { name: 'a fragment, to an unknown route', bytes: get('/nothing#a'), statuses: [400] },
    { name: 'a URL of the same host', bytes: get('http://LOCALHOST/login'), statuses: [200] },
    {
      name: 'a host name with a port',
      bytes: 'GET /login HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n\r\n',
      statuses: [200],
    },
    {
      name: 'an IPv6 address',
      bytes: 'GET /login HTTP/1.1\r\nHost: [::1]:8080\r\nConnection: close\r\n\r\n',
      statuses: [200],
    },
    { name: 'a header without a name', bytes: `GET / HTTP/1.1\r\n: x\r\n${GET}`, statuses: [400] },
    { name: 'a header with a space before its colon', bytes: `GET / HTTP/1.1\r\nA : x\r\n${GET}`, statuses: [400] },
    { name: 'a header with a NUL', bytes: `GET / HTTP/1.1\r\nA: x\0y\r\n${GET}`, statuses: [400] },
    { name: 'a header of 20 KB', bytes: `GET / HTTP/1.1\r\nA: ${long(20_000)}\r\n${GET}`, statuses: [431] },
    {
      name: 'a thousand headers',
      bytes: `GET / HTTP/1.1\r\n${'A: bcdefghijklmno\r\n'.repeat(1000)}${GET}`,
      statuses: [431],
    },
    { name: 'a URL of 20 KB', bytes: get(`/${long(20_000)}`), statuses: [431] },
    { name: 'a URL of 15 KB', bytes: get(`/${long(15_000)}`), statuses: [404] },
    { name: 'a query of 15 KB', bytes: get(`/oauth/authorize?client_id=${long(15_000)}`), statuses: [400] },
    { name: 'invalid percent-encoding', bytes: get('/%zz%'), statuses: [400] },
    { name: 'percent-encoding that is not UTF-8', bytes: get('/%ff%c0%af'), statuses: [400] },
    { name: 'invalid percent-encoding in the query', bytes: get('/oauth/authorize?client_id=%zz'), statuses: [400] },
    {
      name: 'percent-encoding that is not UTF-8 in the query',
      bytes: get('/login?error=%ff&error=%c0%af'),
      statuses: [400],
    },
    { name: 'a NUL in the path', bytes: get('/\0'), statuses: [400] },
    { name: 'an encoded NUL in the path', bytes: get('/login%00'), statuses: [404] },
    { name: 'an encoded NUL in the query', bytes: get('/oauth/authorize?client_id=a%00b'), statuses: [400] },
    { name: 'an encoded path traversal', bytes: get('/resources/..%2f..%2fpackage.json'), statuses: [404] },
    { name: 'a path traversal', bytes: get('/resources/../../package.json'), statuses: [404] },
    { name: 'backslashes', bytes: get('/\\\\evil.example/'), statuses: [404] },
    { name: 'two slashes', bytes: get('//evil.example/..'), statuses: [404] },
    { name: 'CONNECT', bytes: `CONNECT evil.example:443 HTTP/1.1\r\n${GET}`, statuses: [] },
    { name: 'TRACE', bytes: `TRACE /login HTTP/1.1\r\nCookie: secret=1\r\n${GET}`, statuses: [405] },
    {
      name: 'an Upgrade',
      bytes: `GET /nothing HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\nHost: localhost\r\n\r\n`,
      statuses: [404],
    },
    {
      name: 'Content-Length and Transfer-Encoding',
      bytes: `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      statuses: [400],
    },
    {
      name: 'two Content-Length headers',
      bytes: `${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`,
      statuses: [400],
    },
    { name: 'a negative Content-Length', bytes: `${POST}Content-Length: -1\r\n\r\n`, statuses: [400] },
    { name: 'an invalid Content-Length', bytes: `${POST}Content-Length: 0x10\r\n\r\n`, statuses: [400] },
    {
      name: 'an unknown transfer coding',
      bytes: `${POST}Transfer-Encoding: xchunked\r\n\r\n`,
      statuses: [400],
    },
    ...['gzip, chunked', 'identity, chunked'].map(codings => ({
      name: `the transfer codings ${codings}, followed by another request`,
      bytes: `${POST}Transfer-Encoding: ${codings}\r\n\r\n0\r\n\r\n${get('/healthz')}`,
      statuses: [400],
    })),
    {
      name: 'a transfer coding in HTTP/1.0, followed by another request',
      bytes: `${POST.replace('1.1', '1.0')}Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${get('/healthz')}`,
      statuses: [400],
    },
    {
      name: 'an invalid chunk length',
      bytes: `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
      statuses: [400],
    },
    {
      name: 'more body than declared',
      bytes: `${POST}Content-Length: 2\r\n\r\na=bcdef\r\n\r\n`,
      statuses: [400],
    },
    { name: 'a body of 65 KB', bytes: post(`a=${long(65_600)}`), statuses: [413] },
    { name: 'a declared body of a gigabyte', bytes: `${POST}Content-Length: 1000000000\r\n\r\na=`, statuses: [413] },
    {
      name: 'a chunked body of 65 KB',
      bytes: chunked('a=', ...Array.from({ length: 66 }, () => long(1000))),
      statuses: [413],
    },
    { name: 'a body that is not UTF-8', bytes: post('grant_type=\xff\xfe'), statuses: [400] },
    { name: 'a body with a NUL', bytes: post('grant_type=a%00b'), statuses: [400] },
    { name: 'a body with invalid percent-encoding', bytes: post('grant_type=%zz'), statuses: [400] },
    { name: 'a body of only separators', bytes: post('&='.repeat(20_000)), statuses: [400] },
    {
      name: 'member names of Object.prototype',
      bytes: post('__proto__=1&constructor=2&toString=3&__proto__=4'),
      statuses: [400],
    },
    {
      name: 'a body declared as compressed',
      bytes: post('grant_type=password').replace('Content-Type', 'Content-Encoding: gzip\r\nContent-Type'),
      statuses: [415],
    },
    {
      name: 'credentials that are not Base64',
      bytes: post('grant_type=client_credentials').replace(
        'Content-Type',
        'Authorization: Basic \x80\xff\r\nContent-Type',
      ),
      statuses: [401],
    },
    {
      name: 'invalid cookies',
      bytes: `GET /login HTTP/1.1\r\nCookie: =;;;\xff=\xfe; svc-session=${'%'.repeat(43)}; X-Svc-Csrf=%zz\r\n${GET}`,
      statuses: [200],
    },
  ]
  for (const { name, bytes, statuses } of cases) {
    it(`receive an error that reveals nothing: ${name}`, async () => {
      const answer = await exchange(bytes)
      assert.deepEqual(answer.statuses, statuses, answer.text)
      assert.ok(answer.isClosed)
      assertSilentAboutItself(answer)
    })
  }
})

describe('Unusual clients', () => {
  it('receive responses in HTTP/1.0, followed by a closed connection', async () => {
    const { text, statuses } = await exchange('GET /healthz HTTP/1.0\r\n\r\n')
    assert.deepEqual(statuses, [200])
    assert.match(text, /\r\n\r\nok$/)
  })

  it('receive pipelined responses in order', async () => {
    const kept = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
    const { text } = await exchange(kept('/healthz') + kept('/nothing') + kept('/login') + get('/healthz'))
    assert.deepEqual(
      Array.from(text.matchAll(/HTTP\/1\.1 (\d+) /g), ([, status]) => status),
      ['200', '404', '200', '200'],
    )
  })

  it('have their connection closed after an upgrade request, since Node.js loses subsequent data', async () => {
    const upgrade =
      'GET /nothing HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n'
    const { text, statuses } = await exchange(upgrade + get('/healthz'))
    assert.deepEqual(statuses, [404])
    assert.match(text, /^connection: close\r$/im)
  })

  it('may disconnect during a request body', async () => {
    for (const rest of ['', 'grant_type=pass', long(5000)]) {
      const socket = connect(server.port, '127.0.0.1')
      await once(socket, 'connect')
      await new Promise(resolve => socket.write(`${POST}Content-Length: 10000\r\n\r\n${rest}`, resolve))
      socket.resetAndDestroy()
      await once(socket, 'close')
    }
    assert.ok(await isHealthy(server.port))
  })

  it('may disconnect before the response', async () => {
    const sockets = Array.from({ length: 50 }, () => connect(server.port, '127.0.0.1'))
    await Promise.all(sockets.map(socket => once(socket, 'connect')))
    const body = 'grant_type=password&username=marissa&password=wrong'
    for (const socket of sockets) {
      socket.write(
        post(body).replace('Content-Type', `Authorization: Basic ${btoa('app:appclientsecret')}\r\nContent-Type`),
      )
      socket.end()
      socket.destroy()
    }
    assert.ok(await isHealthy(server.port))
  })
})

describe('Many connections', () => {
  it('are all served, up to a thousand', async () => {
    const answers = await Promise.all(Array.from({ length: 1000 }, () => exchange(get('/healthz'), 30_000)))
    assert.deepEqual(new Set(answers.map(({ statuses }) => statuses.join())), new Set(['200']))
  })

  it('do not block others while five hundred send headers byte by byte', async () => {
    const sockets: Socket[] = []
    for (let index = 0; index < 500; index += 1) {
      const socket = connect(server.port, '127.0.0.1')
      socket.on('error', () => {})
      sockets.push(socket)
    }
    await Promise.all(sockets.map(socket => once(socket, 'connect')))
    for (const letter of 'GET /login HTTP/1.1\r\nHost: loc') {
      for (const socket of sockets) socket.write(letter)
      const { statuses, milliseconds } = await exchange(get('/login'))
      assert.deepEqual(statuses, [200])
      assert.ok(milliseconds < 20_000)
    }
    for (const socket of sockets) socket.destroy()
  })
})

describe('After all these requests', () => {
  it('the process still serves', async () => {
    assert.ok(await isHealthy(server.port))
    assert.ok(process.kill(server.pid, 0))
  })

  it('incomplete requests have timed out', { timeout: SLOW + 5000 }, async t => {
    for (const { name, end, seconds } of slow) {
      const answer = await end
      t.diagnostic(`${name}: ${answer.statuses.join() || 'closed'} after ${(answer.milliseconds / 1000).toFixed(1)} s`)
      assert.ok(answer.isClosed, name)
      assert.ok(answer.milliseconds < seconds * 1000, name)
      assert.deepEqual(answer.statuses, [408], name)
      assertSilentAboutItself(answer)
    }
  })

  it('rejected connections that clients keep open are closed', async t => {
    const sockets = await Promise.all(stubborn)
    t.after(() => sockets.forEach(socket => socket.destroy()))
    for (const [index, socket] of sockets.entries()) {
      for (let tries = 0; tries < 50 && !socket.destroyed; tries += 1) {
        socket.write('x') // the system resets a connection that no process has
        await pause(100)
      }
      assert.ok(socket.destroyed, `connection ${index} is kept`)
    }
  })
})
