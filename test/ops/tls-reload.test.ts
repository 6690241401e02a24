import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { it } from 'node:test'
import { connect } from 'node:tls'
import { readTls } from '../../src/base/certificates/tls-files.ts'
import { reloadTlsFiles } from '../../src/ops/tls-reload.ts'
import { certificateOf } from '../support/certificate.ts'
import { createTestClock } from '../support/clock.ts'
import { privatePem, temporaryFolder } from '../support/config.ts'

it('uses a certificate replaced during the start', async t => {
  const folder = temporaryFolder()
  const files = { certificate: join(folder, 'cert.pem'), privateKey: join(folder, 'key.pem') }
  const replace = (name: string): void => {
    const key = privatePem('ec', 'P-256')
    writeFileSync(files.privateKey, key)
    writeFileSync(files.certificate, certificateOf(key, { name }))
  }
  replace('first')
  const read = readTls(files)
  assert.ok(read.problem === undefined)
  const server = createServer({ ...read.context }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise(resolve => server.once('listening', resolve))
  replace('second')
  const lines: string[] = []
  const log = { info: (line: string) => void lines.push(line), warn: (line: string) => void lines.push(line) }
  t.after(reloadTlsFiles(server, files, { log, clock: createTestClock() }))
  const { port } = server.address() as AddressInfo // of a socket
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  t.after(() => socket.destroy())
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
  assert.equal(socket.getPeerCertificate().subject.CN, 'second')
  assert.deepEqual(lines, [])
})
