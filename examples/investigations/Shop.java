// SPDX-License-Identifier: GPL-2.0-or-later
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URL;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;

/** An HTTP server with four threads, and four clients in the same program. Each request holds the stock's monitor for 20 ms. */
public class Shop {
	static final String ADDRESS = "127.0.0.1";
	static final int PORT = 8377, THREADS = 4;
	static final Object stock = new Object();
	static final List<String> reserved = new ArrayList<>();

	static String render(int items) {
		StringBuilder page = new StringBuilder();
		for (int i = 0; i < items; i++)
			page.append(String.format("<li>%d</li>", i));
		return page.toString();
	}

	static void reserve() {
		synchronized (stock) {
			try {
				Thread.sleep(20);
			} catch (InterruptedException e) {
				return;
			}
			reserved.add(render(50));
		}
	}

	static void answer(HttpExchange exchange) throws IOException {
		reserve();
		byte[] page = render(2000).getBytes();
		exchange.sendResponseHeaders(200, page.length);
		exchange.getResponseBody().write(page);
		exchange.close();
	}

	static void buy() {
		byte[] buffer = new byte[65536];
		for (;;) {
			try (var page = new URL("http://" + ADDRESS + ":" + PORT).openStream()) {
				while (page.read(buffer) > 0)
					continue;
			} catch (IOException e) {
				return;
			}
		}
	}

	public static void main(String[] args) throws IOException {
		HttpServer server = HttpServer.create(new InetSocketAddress(ADDRESS, PORT), 0);
		server.setExecutor(Executors.newFixedThreadPool(THREADS));
		server.createContext("/", Shop::answer);
		server.start();
		for (int i = 0; i < THREADS; i++)
			new Thread(Shop::buy, "client").start();
	}
}
