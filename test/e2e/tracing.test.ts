// Traces of a real process, whose operator loads something that keeps them.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { serve } from '../support/process.ts'
import { send } from '../support/visitor.ts'

const API = import.meta.resolve('@opentelemetry/api')
/** Registers a tracer by the API alone, like an operator's file with the OpenTelemetry SDK. */
const SDK = `
import { trace } from ${JSON.stringify(API)}
const span = name => ({
  spanContext: () => ({ traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), traceFlags: 1 }),
  isRecording: () => true, setAttribute() {}, setStatus() {}, updateName(given) { name = given },
  end() { process.stdout.write('span ' + name + '\\n') },
})
trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: span }) })
`
const bootstrap = {
  clients: [{ client_id: 'app', client_secret: 's', authorized_grant_types: ['client_credentials'] }],
}

describe('tracing.enabled', () => {
  it('sends spans to the SDK loaded by NODE_OPTIONS, and logs trace ids', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-'))
    const file = join(folder, 'otel.mjs')
    writeFileSync(file, SDK)
    const config = { bootstrap, tracing: { enabled: true }, log: { requests: 'context' } }
    const server = await serve({ config, env: { NODE_OPTIONS: `--import ${pathToFileURL(file).href}` } })
    const form = { grant_type: 'client_credentials' }
    const { status } = await send(`${server.baseUrl}/oauth/token`, { form, basic: ['app', 's'] })
    const { stdout } = await server.stop()
    rmSync(folder, { recursive: true })
    assert.equal(status, 200)
    assert.match(stdout, /^span POST \/oauth\/token$/m)
    assert.match(stdout, /"trace_id":"(?:ab){16}","msg":"TokenIssuedEvent"/)
    assert.doesNotMatch(stdout, /has no effect/)
  })

  it('warns if no SDK is loaded, and serves', async () => {
    const server = await serve({ config: { bootstrap, tracing: { enabled: true } } })
    const form = { grant_type: 'client_credentials' }
    assert.equal((await send(`${server.baseUrl}/oauth/token`, { form, basic: ['app', 's'] })).status, 200)
    assert.match((await server.stop()).stdout, /tracing\.enabled has no effect/)
  })
})
