// Private keys whose passphrase is expensive to check.

/** An encrypted PKCS#8 key whose parameters require this many rounds; the rest may be invalid. */
export function keyWithRounds(rounds: number): string {
  const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
    const body = Buffer.concat(parts)
    return Buffer.concat([Buffer.from([tag, body.length]), body])
  }
  const number = Buffer.from(rounds.toString(16).padStart(8, '0'), 'hex')
  const pbkdf2 = der(
    0x30,
    Buffer.from('06092a864886f70d01050c', 'hex'),
    der(0x30, der(0x04, Buffer.alloc(8)), der(0x02, number)),
  )
  const aes = der(0x30, Buffer.from('060960864801650304012a', 'hex'), der(0x04, Buffer.alloc(16)))
  const algorithm = der(0x30, Buffer.from('06092a864886f70d01050d', 'hex'), der(0x30, pbkdf2, aes))
  const whole = der(0x30, algorithm, der(0x04, Buffer.alloc(16)))
  return `-----BEGIN ENCRYPTED PRIVATE KEY-----\n${whole.toString('base64')}\n-----END ENCRYPTED PRIVATE KEY-----\n`
}
