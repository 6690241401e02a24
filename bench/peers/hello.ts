// The ceiling: a minimal node:http server. Usage: node bench/peers/hello.ts PORT
import { createServer } from 'node:http'

const body = Buffer.from('hello world')

createServer((request, response) => {
  // Reads the body to its end, as every server has to.
  request.resume()
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length })
    response.end(body)
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
