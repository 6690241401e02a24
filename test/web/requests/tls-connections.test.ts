import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { connect } from 'node:tls'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import { createUrls } from '../../../src/model/urls.ts'
import { createHttpServer } from '../../../src/web/server.ts'
import { certificateOf } from '../../support/certificate.ts'
import { privatePem } from '../../support/config.ts'
import { freePort } from '../../support/free-port.ts'

// More than the buffers of both sockets take, so that most of it waits until the caller reads.
const LARGE = 'x'.repeat(16 * 1024 * 1024)

describe('A TLS connection', () => {
  it('takes a body in a TLS record of its own while the response before it is still being sent', async () => {
    const behaviour = behaviourOf('standard')
    const port = await freePort()
    const key = privatePem('ec', 'P-256')
    const server = createHttpServer({
      tls: { cert: certificateOf(key), key, minVersion: 'TLSv1.2', ciphers: 'HIGH', requestCert: false },
      behaviour,
      urls: createUrls(`https://127.0.0.1:${port}`, behaviour),
      trustedProxies: [],
      onFrameworkError: (_, __, reply) => Promise.resolve(void reply.status(400).send()),
    })
    server.get('/large', () => LARGE)
    server.post('/form', () => 'the form was read')
    await server.listen({ host: '127.0.0.1', port })
    try {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')
      await once(socket, 'readable')
      // Both records are there when the server reads again.
      socket.write(
        'POST /form HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\n',
      )
      socket.write('a=b')
      let text = ''
      for await (const part of socket.setEncoding('latin1')) text = `${text}${part}`.slice(-300)
      assert.match(text, /the form was read$/)
    } finally {
      await server.close()
    }
  })
})
