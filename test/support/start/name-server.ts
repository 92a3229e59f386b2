/**
 * A DNS server on 127.0.0.1, on one port for UDP and TCP, with the answers of a test. It implements
 * only the part of RFC 1035 that these answers need.
 */
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, isIP, type Server, type Socket } from 'node:net'

export interface Question {
  name: string
  /** `A` or `AAAA`; any other type is its number. */
  type: string
  over: 'udp' | 'tcp'
}

export interface NameAnswer {
  /**
   * Addresses of the requested type, or aliases (CNAME). The owner of a record is the requested
   * name, or the alias before it.
   */
  records?: readonly { alias?: string; address?: string; ttl?: number }[]
  /** Response code, 0 by default; 2 is SERVFAIL, 3 is NXDOMAIN. */
  code?: number
  /** Sets the truncation flag: the client must ask again over TCP. */
  isCut?: boolean
  /** Answers with another query id, like an attacker who guesses. */
  isForged?: boolean
}

export interface NameServer {
  /** Address for `Resolver.setServers`. */
  address: string
  /** Questions in the order of arrival. */
  asked: Question[]
  close(): Promise<void>
}

/** Starts the server. It sends the messages that `answer` returns, or nothing for an empty list. */
export async function startNameServer(
  answer: (question: Question) => readonly NameAnswer[],
): Promise<NameServer> {
  const asked: Question[] = []
  const replies = (query: Buffer, over: Question['over']): Buffer[] => {
    const question = { ...readQuestion(query), over }
    asked.push(question)
    return answer(question).map((one) => message(query, question, one))
  }
  const sockets = new Set<Socket>()
  const tcp = createServer((socket) => {
    sockets.add(socket)
    let rest = Buffer.alloc(0)
    socket
      .on('error', () => undefined)
      .on('data', (bytes: Buffer) => {
        rest = Buffer.concat([rest, bytes])
        for (let end = endOfFirst(rest); end <= rest.length; end = endOfFirst(rest)) {
          for (const reply of replies(rest.subarray(2, end), 'tcp'))
            socket.write(Buffer.concat([uint16(reply.length), reply]))
          rest = rest.subarray(end)
        }
      })
  })
  const udp = createSocket('udp4').on('message', (query, from) => {
    for (const reply of replies(query, 'udp')) udp.send(reply, from.port, from.address)
  })
  const port = await onePort(tcp, udp)
  return {
    address: `127.0.0.1:${port}`,
    asked,
    async close() {
      udp.close()
      for (const socket of sockets) socket.destroy()
      tcp.close()
      await once(tcp, 'close')
    },
  }
}

/**
 * Listens on one port for TCP and UDP. If a port is free for TCP but not for UDP, it tries another
 * port.
 */
async function onePort(tcp: Server, udp: UdpSocket): Promise<number> {
  for (;;) {
    await once(tcp.listen(0, '127.0.0.1'), 'listening')
    const { port } = tcp.address() as AddressInfo
    const bound = await once(udp.bind(port, '127.0.0.1'), 'listening').then(
      () => true,
      () => false,
    )
    if (bound) return port
    tcp.close()
    await once(tcp, 'close')
  }
}

/**
 * Returns the end of the first TCP message, from its length prefix. The result is beyond the buffer
 * while the length is incomplete.
 */
function endOfFirst(bytes: Buffer): number {
  return bytes.length < 2 ? 2 : 2 + bytes.readUInt16BE(0)
}

const types: Record<string, number> = { A: 1, CNAME: 5, AAAA: 28 }
const headerBytes = 12

function readQuestion(query: Buffer): { name: string; type: string } {
  const labels: string[] = []
  let at = headerBytes
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const number = query.readUInt16BE(at + 1)
  const type = Object.keys(types).find((name) => types[name] === number) ?? String(number)
  return { name: labels.join('.'), type }
}

function message(
  query: Buffer,
  { name, type }: Question,
  { records = [], code = 0, isCut = false, isForged = false }: NameAnswer,
): Buffer {
  let owner = name
  const answers = records.map(({ alias, address = '', ttl = 60 }) => {
    const held = alias === undefined ? addressBytes(address) : nameBytes(alias)
    const head = [nameBytes(owner), uint16(types[alias === undefined ? type : 'CNAME'] ?? 0)]
    owner = alias ?? owner
    const life = Buffer.alloc(4)
    life.writeUInt32BE(ttl)
    return Buffer.concat([...head, uint16(1), life, uint16(held.length), held])
  })
  const id = query.readUInt16BE(0) ^ (isForged ? 1 : 0)
  const flags = 0x8180 | (isCut ? 0x0200 : 0) | code
  const counts = [1, answers.length, 0, 0].map(uint16)
  const asked = [nameBytes(name), uint16(types[type] ?? Number(type)), uint16(1)]
  return Buffer.concat([uint16(id), uint16(flags), ...counts, ...asked, ...answers])
}

function uint16(number: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(number)
  return bytes
}

function nameBytes(name: string): Buffer {
  const labels = name.split('.').map((label) => {
    const bytes = Buffer.from(label, 'latin1')
    return Buffer.concat([Buffer.from([bytes.length]), bytes])
  })
  return Buffer.concat([...labels, Buffer.from([0])])
}

/** IPv6 addresses must be written with all eight groups. */
function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number))
  return Buffer.concat(address.split(':').map((group) => uint16(Number.parseInt(group, 16))))
}
