import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (audit: unknown) => loadText(folder, JSON.stringify({ audit, smtp: { host: 'localhost' } }))
const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
const url = 'https://siem.example/in'

describe('audit', () => {
  it('is off by default', async () => {
    assert.equal((await load(undefined)).audit, undefined)
    assert.equal((await load({ days: 10 })).audit, undefined)
  })

  it('keeps every entry for 90 days by default', async () => {
    assert.deepEqual((await load({ enabled: true })).audit, { days: 90, excluded: [], webhooks: [] })
  })

  it('has webhooks, whose secret may be in a file', async () => {
    writeFileSync(join(folder, 'secret'), `${secret}\n`)
    const webhooks = [
      { name: 'a', url, secret, zones: ['z1'] },
      { name: 'b', url: 'http://127.0.0.1:9/in', secret_file: 'secret' },
    ]
    const { audit } = await load({ enabled: true, days: 7, exclude: ['TokenIssuedEvent'], webhooks })
    const key = Buffer.alloc(24, 1)
    assert.deepEqual(audit, {
      days: 7,
      excluded: ['TokenIssuedEvent'],
      webhooks: [
        { name: 'a', url, key, zones: ['z1'] },
        { name: 'b', url: 'http://127.0.0.1:9/in', key },
      ],
    })
  })

  it('warns of settings without effect', async () => {
    assert.deepEqual((await load({ enabled: true, days: 7, exclude: ['TokenIssuedEvent'] })).warnings, [])
    assert.deepEqual((await load({ enabled: false })).warnings, [])
    assert.deepEqual((await load({ days: 7, webhooks: [{ name: 'a', url, secret }] })).warnings, [
      'audit: days, webhooks without effect, because audit.enabled is not true',
    ])
    assert.deepEqual((await load({ enabled: true, exclude: ['TokenIssueEvent', 'Unheard'] })).warnings, [
      'audit.exclude: TokenIssueEvent is not an event of this version; did you mean TokenIssuedEvent?',
      'audit.exclude: Unheard is not an event of this version',
    ])
  })

  const wrong: { name: string; audit: unknown; want: RegExp }[] = [
    { name: 'no days', audit: { days: 0 }, want: /^audit\.days: / },
    { name: 'an unknown key', audit: { retention: 1 }, want: /^audit\.retention: / },
    { name: 'a type that no event has', audit: { exclude: ['token issued'] }, want: /^audit\.exclude\[0\]: / },
    {
      name: 'two webhooks with the same name',
      audit: {
        webhooks: [
          { name: 'a', url, secret },
          { name: 'a', url, secret },
        ],
      },
      want: /^audit\.webhooks\[1\]\.name: is already used by another webhook$/,
    },
    ...['http://siem.example/', 'ftp://siem.example/', 'https://a:b@siem.example/', 'siem'].map(each => ({
      name: `the URL ${each}`,
      audit: { webhooks: [{ name: 'a', url: each, secret }] },
      want: /^audit\.webhooks\[0\]\.url: must be an https URL without credentials$/,
    })),
    ...[undefined, 'short', 'whsec_', `whsec_${Buffer.alloc(23).toString('base64')}`, secret.slice(6)].map(each => ({
      name: `the secret ${each}`,
      audit: { webhooks: [{ name: 'a', url, ...(each !== undefined && { secret: each }) }] },
      want: /^audit\.webhooks\[0\]\.secret: must be whsec_ and 24 to 64 bytes in base64/,
    })),
  ]
  for (const { name, audit, want } of wrong) {
    it(`rejects ${name}`, async () => {
      const problems = await problemsOf(load(audit))
      assert.equal(problems.length, 1, problems.join('\n'))
      assert.match(problems[0] ?? '', want)
    })
  }
})
