import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Outbound, OutboundFailure, OutboundOptions, OutboundShare } from '../../src/base/outbound.ts'
import { createOutbound, OutboundBusy, OutboundError } from '../../src/base/outbound.ts'
import { certificateOf } from '../support/certificate.ts'
import { privatePem } from '../support/config.ts'

const MAX_BYTES = 64 * 1024

/** The error of a request that must fail. */
async function failureOf(work: Promise<unknown>): Promise<OutboundError> {
  const error: unknown = await work.then(
    () => assert.fail('the request succeeded'),
    (cause: unknown) => cause,
  )
  assert.ok(error instanceof OutboundError, String(error))
  return error
}

const strict: OutboundOptions = { allowPrivate: false, allowLoopback: false }

// Covers every answer in standard: outbound fetches: https, limits, no private targets
describe('Forbidden outbound requests', () => {
  interface Refused {
    readonly name: string
    readonly url: string
    /** The addresses of every name; without it, a lookup fails the test. */
    readonly addresses?: readonly string[]
    readonly options?: Partial<OutboundOptions>
    readonly failure?: OutboundFailure
  }
  const loopback = { allowLoopback: true }
  const open = { allowPrivate: true }
  const refused: readonly Refused[] = [
    { name: 'a string that is not a URL', url: 'keys' },
    { name: 'an empty string', url: '' },
    { name: 'plain http', url: 'http://keys.example/' },
    { name: 'plain http to loopback', url: 'http://localhost/' },
    { name: 'plain http to another host with allowLoopback', url: 'http://keys.example/', options: loopback },
    { name: 'plain http to another host with allowPrivate', url: 'http://10.0.0.1/', options: open },
    { name: 'a name that starts with localhost', url: 'http://localhost.example/', options: loopback },
    { name: 'another scheme', url: 'ftp://keys.example/' },
    { name: 'a file URL', url: 'file:///etc/passwd', options: open },
    { name: 'a data URL', url: 'data:application/json,{}', options: open },
    { name: 'credentials', url: 'https://me:secret@keys.example/' },
    { name: 'a user name', url: 'https://me@keys.example/' },
    { name: 'the loopback address', url: 'https://127.0.0.1/' },
    { name: 'the loopback address as a number', url: 'https://2130706433/' },
    { name: 'the loopback address in hexadecimal', url: 'https://0x7f.1/' },
    { name: 'the IPv6 loopback address', url: 'https://[::1]/' },
    { name: 'the loopback address mapped to IPv6', url: 'https://[::ffff:127.0.0.1]/', options: open },
    { name: 'a private address', url: 'https://10.0.0.1/' },
    { name: 'a private address with allowLoopback', url: 'https://10.0.0.1/', options: loopback },
    { name: 'the metadata address', url: 'https://169.254.169.254/latest', options: open },
    { name: 'a name that resolves to loopback', url: 'https://a.example/', addresses: ['127.0.0.1'] },
    { name: 'a name that resolves to a private address', url: 'https://a.example/', addresses: ['192.168.1.1'] },
    { name: 'a name that resolves to a private IPv6 address', url: 'https://a.example/', addresses: ['fd00::1'] },
    {
      name: 'a name that resolves to a link-local address',
      url: 'https://a.example/',
      addresses: ['fe80::1'],
      options: open,
    },
    {
      name: 'a name that resolves to the metadata address',
      url: 'https://a.example/',
      addresses: ['169.254.169.254'],
      options: open,
    },
    {
      name: 'a name that resolves to a multicast address',
      url: 'https://a.example/',
      addresses: ['224.0.0.1'],
      options: open,
    },
    {
      name: 'a name that resolves to an IPv4-mapped address',
      url: 'https://a.example/',
      addresses: ['::ffff:10.0.0.1'],
      options: open,
    },
    {
      name: 'a name that resolves to a public and a private address',
      url: 'https://a.example/',
      addresses: ['1.1.1.1', '10.0.0.1'],
    },
    {
      name: 'localhost that resolves to a public address',
      url: 'http://localhost/',
      addresses: ['1.1.1.1'],
      options: loopback,
    },
    {
      name: 'localhost that resolves to a private address',
      url: 'http://localhost/',
      addresses: ['10.0.0.1'],
      options: open,
    },
    { name: 'a name that resolves to no address', url: 'https://a.example/', addresses: [], failure: 'unreachable' },
  ]
  for (const { name, url, addresses, options, failure = 'forbidden' } of refused) {
    it(`rejects ${name}`, async () => {
      const resolve = () => (addresses ? Promise.resolve(addresses) : assert.fail('the name was looked up'))
      const outbound = createOutbound({ ...strict, resolve, ...options })
      const error = await failureOf(outbound.getJson(url))
      assert.equal(error.failure, failure, error.message)
      assert.doesNotMatch(error.message, /secret|passwd|latest/)
    })
  }
})

/** Writes the text again and again, until the other side closes the connection. */
function flood(socket: Socket, { head = '', text }: { readonly head?: string; readonly text: string }): void {
  socket.on('error', () => {}) // closed during a write
  socket.write(head)
  const many = text.repeat(1000)
  const go = (): void => void (socket.destroyed || socket.write(many, go))
  go()
}

describe('Outbound requests', () => {
  let server: Server
  let base: string
  let answer: (request: IncomingMessage, response: ServerResponse) => void
  const requests: IncomingMessage[] = []
  before(async () => {
    server = createServer((request, response) => {
      requests.push(request)
      answer(request, response)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    base = `http://localhost:${(server.address() as AddressInfo).port}` // no pipe
  })
  afterEach(() => {
    requests.length = 0
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const lenient = (options: Partial<OutboundOptions> = {}) =>
    createOutbound({ allowPrivate: false, allowLoopback: true, ...options })
  const json = (text: string) => (_: IncomingMessage, response: ServerResponse) => void response.end(text)

  it('return JSON and headers', async () => {
    answer = (_, response) => {
      response.setHeader('cache-control', 'max-age=60')
      response.end('{"keys":["ä"]}')
    }
    const { value, headers } = await lenient().getJson(`${base}/keys?a=b`)
    assert.deepEqual(value, { keys: ['ä'] })
    assert.equal(headers.get('cache-control'), 'max-age=60')
    const [sent] = requests
    assert.deepEqual([sent?.method, sent?.url, sent?.headers.host], ['GET', '/keys?a=b', new URL(base).host])
    assert.equal(sent?.headers['accept-encoding'], 'identity')
    assert.equal(sent.headers.connection, 'close')
  })

  it('report purpose and outcome to the observer', async () => {
    const seen: unknown[] = []
    const outbound = lenient({
      onExchange: ({ milliseconds, ...exchange }) => seen.push([exchange, milliseconds >= 0]),
    })
    answer = json('{}')
    await outbound.for('jwks').getJson(`${base}/keys`)
    answer = (_, response) => response.writeHead(503).end()
    await outbound.for('logout').fetch(`${base}/logout`, { method: 'POST', body: 'a=b' })
    answer = (_, response) => response.writeHead(302, { location: '/' }).end()
    await failureOf(outbound.fetch(base))
    await failureOf(outbound.for('webhook').fetch('ftp://a.example/'))
    assert.deepEqual(seen, [
      [{ purpose: 'jwks', method: 'GET', address: `${base}/keys`, outcome: 200 }, true],
      [{ purpose: 'logout', method: 'POST', address: `${base}/logout`, outcome: 503 }, true],
      [{ purpose: 'other', method: 'GET', address: base, outcome: 'redirect' }, true],
      [{ purpose: 'webhook', method: 'GET', address: 'ftp://a.example/', outcome: 'forbidden' }, true],
    ])
  })

  it('reach private networks and loopback with allowPrivate', async () => {
    answer = json('1')
    assert.equal((await lenient({ allowPrivate: true, allowLoopback: false }).getJson(base)).value, 1)
  })

  it('return any status except redirects', async () => {
    answer = (_, response) => {
      response.statusCode = 418
      response.end('teapot')
    }
    const response = await lenient().fetch(base)
    assert.deepEqual([response.status, await response.text()], [418, 'teapot'])
  })

  it('ignore the body with ignoreBody', async () => {
    answer = (_, response) => {
      response.writeHead(202, { 'content-encoding': 'br', 'x-from': 'proxy' })
      response.write('x'.repeat(MAX_BYTES + 1)) // and no end
    }
    const response = await lenient().fetch(base, { ignoreBody: true })
    assert.deepEqual([response.status, response.headers.get('x-from'), await response.text()], [202, 'proxy', ''])
    answer = (_, response) => void response.writeHead(307, { location: base }).end()
    assert.equal((await failureOf(lenient().fetch(base, { ignoreBody: true }))).failure, 'redirect')
  })

  it('send a body with its Content-Length', async () => {
    answer = (request, response) => void request.pipe(response)
    const headers = { 'content-type': 'text/plain' }
    const response = await lenient().fetch(base, { method: 'POST', headers, body: 'ärger' })
    assert.equal(await response.text(), 'ärger')
    const [sent] = requests
    assert.deepEqual(
      [sent?.method, sent?.headers['content-length'], sent?.headers['content-type']],
      ['POST', '6', 'text/plain'],
    )
  })

  it('accept a response of the maximum size', async () => {
    answer = json(JSON.stringify('x'.repeat(MAX_BYTES - 2)))
    assert.equal(String((await lenient().getJson(base)).value).length, MAX_BYTES - 2)
  })

  const tooMuch = 'x'.repeat(MAX_BYTES + 1)
  const bad: readonly { name: string; failure: OutboundFailure; answer: typeof answer }[] = [
    { name: 'too large by its Content-Length', failure: 'too-large', answer: json(tooMuch) },
    {
      name: 'too large without a Content-Length',
      failure: 'too-large',
      answer: (_, response) => void response.write(tooMuch),
    },
    ...[
      { name: 'endless interim responses', text: 'HTTP/1.1 103 Early Hints\r\n\r\n' },
      { name: 'endless empty lines', text: '\r\n' },
    ].map(({ name: endless, text }) => ({
      name: endless,
      failure: 'too-large' as const,
      answer: ({ socket }: IncomingMessage) => flood(socket, { text }),
    })),
    {
      name: 'more framing than content',
      failure: 'too-large',
      answer: ({ socket }) =>
        flood(socket, {
          head: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
          text: '1;x=xxxxxxxxxxxxxxxx\r\n1\r\n',
        }),
    },
    {
      name: 'compressed',
      failure: 'bad-answer',
      answer: (_, response) => {
        response.setHeader('content-encoding', 'gzip')
        response.end(gzipSync(Buffer.alloc(10_000_000)))
      },
    },
    ...[300, 301, 302, 303, 307, 308].map(status => ({
      name: `a redirect (${status}), and do not follow it`,
      failure: 'redirect' as const,
      answer: (_: IncomingMessage, response: ServerResponse) => {
        response.statusCode = status
        response.setHeader('location', '/elsewhere')
        response.end('{}')
      },
    })),
    ...[204, 404, 500].map(status => ({
      name: `of status ${status}`,
      failure: 'bad-answer' as const,
      answer: (_: IncomingMessage, response: ServerResponse) => {
        response.statusCode = status
        response.end('{}')
      },
    })),
    { name: 'not JSON', failure: 'bad-answer', answer: json('<html>secret</html>') },
    { name: 'empty', failure: 'bad-answer', answer: json('') },
    {
      name: 'not UTF-8',
      failure: 'bad-answer',
      answer: (_, response) => void response.end(Buffer.from('"\xff"', 'latin1')),
    },
    {
      name: 'truncated',
      failure: 'unreachable',
      answer: (_, response) => {
        response.setHeader('content-length', '100')
        response.write('{}', () => response.destroy())
      },
    },
    { name: 'a closed connection', failure: 'unreachable', answer: request => void request.socket.destroy() },
    {
      name: 'a protocol upgrade',
      failure: 'unreachable',
      answer: request =>
        void request.socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    },
  ]
  for (const { name, failure, answer: badly } of bad) {
    it(`fail if the response is ${name}`, async () => {
      answer = badly
      const error = await failureOf(lenient().getJson(`${base}/keys?token=secret`))
      assert.equal(error.failure, failure, error.message)
      assert.doesNotMatch(`${error.message} ${JSON.stringify(error)}`, /secret|keys/)
      assert.equal(requests.length, 1)
    })
  }

  const slow: readonly { name: string; answer: typeof answer }[] = [
    { name: 'no response', answer: () => abort.abort() },
    {
      name: 'half a response',
      answer: (_, response) => void response.write('{', () => setImmediate(() => abort.abort())),
    },
  ]
  let abort: AbortController
  for (const { name, answer: slowly } of slow) {
    it(`time out after five seconds with ${name}`, async () => {
      answer = slowly
      abort = new AbortController()
      const asked: number[] = []
      const deadline = (milliseconds: number): AbortSignal => {
        asked.push(milliseconds)
        return abort.signal
      }
      assert.equal((await failureOf(lenient({ deadline }).getJson(base))).failure, 'timeout')
      assert.deepEqual(asked, [5000])
    })
  }

  it('time out during name resolution', async () => {
    abort = new AbortController()
    const resolve = (): Promise<never> => {
      abort.abort()
      return new Promise(() => {})
    }
    const outbound = lenient({ deadline: () => abort.signal, resolve })
    assert.equal((await failureOf(outbound.getJson(base))).failure, 'timeout')
  })

  it('fail for an unknown name', async () => {
    const resolve = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))
    const error = await failureOf(lenient({ resolve }).getJson('https://a.example/'))
    assert.equal(`${error.failure} ${error.message}`, 'unreachable https://a.example: cannot be reached (ENOTFOUND)')
  })

  it('are limited to four at a time per host', async () => {
    const waiting: ServerResponse[] = []
    let arrived: () => void = () => {}
    const four = new Promise<void>(resolve => (arrived = resolve))
    answer = (_, response) => {
      waiting.push(response)
      if (waiting.length === 4) arrived()
    }
    const outbound = lenient()
    const running = Array.from({ length: 4 }, () => outbound.getJson(base))
    await four
    await assert.rejects(outbound.getJson(base), OutboundBusy)
    for (const response of waiting) response.end('1')
    await Promise.all(running)
    answer = json('2')
    assert.equal((await outbound.getJson(base)).value, 2)
  })

  const hosts = (count: number, prefix = 'h') =>
    Array.from({ length: count }, (_, index) => `https://${prefix}${index}.example/`)
  const ofZone = (zoneId: string, purpose: OutboundShare['purpose'] = 'background') => ({ zoneId, purpose })
  /** One whose requests never get a response. */
  const endless = () => lenient({ resolve: () => new Promise(() => {}) })
  const isBusy = async (outbound: Pick<Outbound, 'getJson'>, share: OutboundShare): Promise<boolean> =>
    Promise.race([
      outbound.getJson('https://last.example/', share).then(
        () => false,
        (error: unknown) => error instanceof OutboundBusy,
      ),
      new Promise<boolean>(resolve => setImmediate(resolve, false)),
    ])

  it('are limited per zone, without affecting other zones', async () => {
    const outbound = endless()
    for (const host of hosts(8)) void outbound.getJson(host, ofZone('a')).catch(() => {})
    assert.equal(await isBusy(outbound, ofZone('a')), true)
    assert.equal(await isBusy(outbound, ofZone('b')), false)
    assert.equal(await isBusy(outbound, ofZone('a', 'sign-in')), false)
  })

  it('are limited per provider, without affecting other providers of the zone', async () => {
    const outbound = endless()
    const ofProvider = (provider: string) => ({ ...ofZone('a', 'sign-in'), provider })
    for (const host of hosts(24)) void outbound.getJson(host, ofProvider('evil')).catch(() => {})
    assert.equal(await isBusy(outbound, ofProvider('evil')), true)
    assert.equal(await isBusy(outbound, ofProvider('good')), false)
  })

  it('are limited in total, except for sign-ins', async () => {
    const outbound = endless()
    for (let zone = 0; zone < 24; zone += 1) {
      for (const host of hosts(8)) void outbound.getJson(host, ofZone(`z${zone}`)).catch(() => {})
    }
    assert.equal(await isBusy(outbound, ofZone('a')), true)
    assert.equal(await isBusy(outbound, ofZone('a', 'sign-in')), false)
  })

  for (const purpose of ['sign-in', 'background', 'directory'] as const) {
    it(`leave capacity to other zones when sixteen zones use all of theirs (${purpose})`, async () => {
      const outbound = endless()
      for (let zone = 0; zone < 16; zone += 1) {
        for (const host of hosts(32)) void outbound.getJson(host, ofZone(`z${zone}`, purpose)).catch(() => {})
      }
      for (let zone = 0; zone < 8; zone += 1) {
        const share = ofZone(`other${zone}`, purpose)
        assert.equal(await isBusy(outbound, share), false)
      }
    })
  }

  it('leave capacity to other providers of a zone when four of them use all of theirs', async () => {
    const outbound = endless()
    const ofProvider = (provider: string) => ({ ...ofZone('a', 'sign-in'), provider })
    for (let provider = 0; provider < 4; provider += 1) {
      for (const host of hosts(24)) void outbound.getJson(host, ofProvider(`evil${provider}`)).catch(() => {})
    }
    assert.equal(await isBusy(outbound, ofProvider('good')), false)
  })

  it('look up two names of a zone at a time, even if their name servers answer late', async () => {
    const asked: string[] = []
    const settle: (() => void)[] = []
    const deadlines: AbortController[] = []
    const outbound = lenient({
      resolve: hostname => {
        asked.push(hostname)
        return new Promise((_, reject) => settle.push(() => reject(new Error('no answer'))))
      },
      deadline: () => {
        const controller = new AbortController()
        deadlines.push(controller)
        return controller.signal
      },
    })
    const turn = () => new Promise(resolve => setImmediate(resolve))
    const request = async (urls: readonly string[], zoneId: string): Promise<void> => {
      for (const url of urls) void outbound.getJson(url, ofZone(zoneId)).catch(() => {})
      await turn()
    }
    const [first, second] = [hosts(8), hosts(8, 'i')]
    await request(first, 'a')
    for (const deadline of deadlines.splice(0)) deadline.abort()
    await turn()
    await request(second, 'a')
    assert.deepEqual(asked, ['h0.example', 'h1.example'], 'those that were given up still count')
    await request(second.slice(0, 3), 'b')
    assert.deepEqual(asked.splice(0), ['h0.example', 'h1.example', 'i0.example', 'i1.example'])
    for (const one of settle.splice(0, 2)) one()
    await turn()
    assert.deepEqual(asked, ['i0.example', 'i1.example'], 'not those that were given up')
  })

  it('share a look-up of the zone for the same name', async () => {
    const asked: string[] = []
    const outbound = lenient({
      resolve: hostname => {
        asked.push(hostname)
        return Promise.resolve(['192.0.2.1'])
      },
    })
    const failures = await Promise.all(
      [0, 1, 2, 3].map(() => failureOf(outbound.getJson('https://a.example/', ofZone('a')))),
    )
    assert.deepEqual([...new Set(failures.map(({ failure }) => failure))], ['forbidden'])
    await failureOf(outbound.getJson('https://a.example/', ofZone('a')))
    assert.deepEqual(asked, ['a.example', 'a.example'], 'one for the four, and one for the request after them')
  })

  it('are limited per zone and host, without affecting other zones', async () => {
    const outbound = endless()
    for (let time = 0; time < 4; time += 1) void outbound.getJson('https://last.example/', ofZone('a')).catch(() => {})
    assert.equal(await isBusy(outbound, ofZone('a')), true)
    assert.equal(await isBusy(outbound, ofZone('b')), false)
  })
})

describe('Outbound connections', () => {
  let server: ReturnType<typeof createTcpServer>
  let port: number
  const firstBytes: Buffer[] = []
  const sockets = new Set<Socket>()
  before(async () => {
    server = createTcpServer(socket => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('data', bytes => {
        firstBytes.push(bytes)
        socket.destroy()
      })
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    ;({ port } = server.address() as AddressInfo) // no pipe
  })
  after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  it('use the address that was checked, resolved once, with the host name in TLS', async () => {
    const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.3']]
    let lookUps = 0
    const resolve = () => Promise.resolve(answers[lookUps++] ?? [])
    const outbound = createOutbound({ allowPrivate: false, allowLoopback: true, resolve })
    const error = await failureOf(outbound.getJson(`https://keys.example:${port}/`))
    assert.equal(error.failure, 'unreachable')
    assert.equal(lookUps, 1)
    assert.equal(firstBytes.length, 1)
    assert.equal(firstBytes[0]?.[0], 22, 'a TLS handshake')
    assert.ok(firstBytes[0].includes('keys.example'), 'RFC 6066 §3: the server name')
  })

  it('try every address that was checked', async () => {
    firstBytes.length = 0
    const resolve = () => Promise.resolve(['::1', '127.0.0.1'])
    const outbound = createOutbound({ allowPrivate: false, allowLoopback: true, resolve })
    await failureOf(outbound.getJson(`https://keys.example:${port}/`))
    assert.equal(firstBytes.length, 1)
  })

  it('reject a certificate of an unknown authority', async () => {
    const key = privatePem('ec', 'P-256')
    let requests = 0
    const own = createHttpsServer({ key, cert: certificateOf(key, { name: 'localhost' }) }, (_, response) => {
      requests += 1
      response.end('1')
    })
    await new Promise<void>(resolve => own.listen(0, '127.0.0.1', resolve))
    try {
      const outbound = createOutbound({ allowPrivate: false, allowLoopback: true })
      const url = `https://localhost:${(own.address() as AddressInfo).port}/` // no pipe
      const error = await failureOf(outbound.getJson(url))
      assert.match(error.message, /cannot be reached \(DEPTH_ZERO_SELF_SIGNED_CERT\)/)
      assert.equal(requests, 0)
    } finally {
      own.close()
    }
  })
})
