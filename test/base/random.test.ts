import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRandom } from '../../src/base/random.ts'

/** Standard deviations beyond which chance fails the test less than once in a hundred million runs. */
const FAR_OFF = 6.5

function assertEven(text: string, alphabetSize: number): void {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  assert.equal(counts.size, alphabetSize)
  const expected = text.length / alphabetSize
  const deviation = Math.sqrt(expected * (1 - 1 / alphabetSize))
  for (const [character, count] of counts) {
    assert.ok(Math.abs(count - expected) < FAR_OFF * deviation, `${character}: ${count}, expected ${expected}`)
  }
}

describe('createRandom', () => {
  const random = createRandom()

  const lengths = [0, 1, 12, 32, 4095, 4096, 4097, 10_000]
  for (const length of lengths) {
    it(`returns exactly ${length} bytes or characters`, () => {
      assert.equal(random.bytes(length).length, length)
      assert.equal(random.hex(length).length, 2 * length)
      assert.equal(random.urlSafe(length).length, length)
      assert.equal(random.alphanumeric(length).length, length)
    })
  }

  const alphabets = [
    { name: 'hex', text: () => random.hex(50), pattern: /^[0-9a-f]{100}$/ },
    { name: 'urlSafe', text: () => random.urlSafe(100), pattern: /^[A-Za-z0-9_-]{100}$/ },
    { name: 'base32', text: () => random.base32(100), pattern: /^[0-9A-HJKMNP-TV-Z]{100}$/ },
    { name: 'alphanumeric', text: () => random.alphanumeric(100), pattern: /^[A-Za-z0-9]{100}$/ },
  ]
  for (const { name, text, pattern } of alphabets) {
    it(`writes ${name} in its alphabet`, () => {
      for (let round = 0; round < 100; round += 1) assert.match(text(), pattern)
    })
  }

  it('returns version 4 UUIDs', () => {
    assert.match(random.uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.notEqual(random.uuid(), random.uuid())
  })

  it('is uniform in base32', () => assertEven(random.base32(320_000), 32))
  it('is uniform in [A-Za-z0-9_-]', () => assertEven(random.urlSafe(640_000), 64))

  it('is uniform in [A-Za-z0-9], without modulo bias', () => assertEven(random.alphanumeric(620_000), 62))

  it('never repeats bytes across refills of its pool', () => {
    const seen = new Set<string>()
    for (let round = 0; round < 5000; round += 1) seen.add(random.bytes(16).toString('hex'))
    assert.equal(seen.size, 5000)
  })

  it('does not return zeros of an unfilled pool', () => {
    const fresh = createRandom()
    for (let round = 0; round < 600; round += 1) {
      assert.ok(
        fresh.bytes(17).some(byte => byte !== 0),
        'seventeen zeros',
      )
    }
  })

  it('returns bytes that callers may change', () => {
    const fresh = createRandom()
    for (let round = 0; round < 300; round += 1) {
      fresh.bytes(16).fill(0)
      assert.ok(fresh.bytes(16).some(byte => byte !== 0))
    }
  })

  // Covers POST /Codes: error: duplicate code
  it('returns different values from different instances', () => {
    assert.notEqual(createRandom().hex(16), createRandom().hex(16))
  })
})
