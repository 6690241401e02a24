import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { loadConfig } from '../../src/config.ts'
import { certificateOf } from '../support/certificate.ts'
import { privatePem, temporaryFolder } from '../support/config.ts'

describe('Warnings about the certificate of listen.tls', () => {
  const folder = temporaryFolder()
  const key = privatePem('ec', 'P-256')
  const validity = { from: new Date('2026-01-01T00:00:00Z'), to: new Date('2026-04-01T00:00:00Z') }
  writeFileSync(join(folder, 'cert.pem'), certificateOf(key, { ...validity, name: 'id.example', address: '192.0.2.1' }))
  writeFileSync(join(folder, 'key.pem'), key)

  async function warned(baseUrl: string, now: string, proxies: readonly string[] = []): Promise<readonly string[]> {
    const tls = { certificate_file: 'cert.pem', private_key_file: 'key.pem' }
    const smtp = { host: 'localhost', from: 'id@example.org' }
    const text = { base_url: baseUrl, listen: { tls, trusted_proxies: proxies }, smtp }
    writeFileSync(join(folder, 'latchkey.yml'), JSON.stringify(text))
    const clock = { now: () => new Date(now) }
    const { warnings } = await loadConfig({ options: { config: 'latchkey.yml' }, env: {}, cwd: folder, clock })
    return warnings.map(text => text.replace(`${folder}/`, ''))
  }

  const about = (reason: string): readonly string[] => [
    `listen.tls.certificate_file: cert.pem ${reason}; callers will refuse it`,
  ]
  const cases = [
    { name: 'none for a valid one', want: [] },
    {
      name: 'an expired one',
      now: '2026-04-01T00:00:00Z',
      want: about('has expired: it was valid until 2026-04-01T00:00:00.000Z'),
    },
    {
      name: 'one not yet valid',
      now: '2025-12-31T23:59:59Z',
      want: about('is not valid before 2026-01-01T00:00:00.000Z'),
    },
    { name: 'one for another address', baseUrl: 'https://192.0.2.2', want: about('is not valid for 192.0.2.2') },
    { name: 'one for no IPv6 address', baseUrl: 'https://[2001:db8::1]', want: about('is not valid for 2001:db8::1') },
    {
      name: 'one with a name in its subject only',
      baseUrl: 'https://id.example',
      want: about('is not valid for id.example'),
    },
    {
      name: 'none behind a proxy',
      baseUrl: 'https://id.example',
      proxies: ['10.0.0.5'],
      want: [],
    },
  ]
  for (const { name, baseUrl = 'https://192.0.2.1:8443/auth', now = '2026-02-01T00:00:00Z', proxies, want } of cases) {
    it(name, async () => assert.deepEqual(await warned(baseUrl, now, proxies), want))
  }
})
